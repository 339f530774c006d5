/*
 * Reads every event of an OTF2 archive with libotf2, to compare with.
 *
 *     otf2 local ANCHOR    each location with its own reader, one after the other
 *     otf2 merge ANCHOR    all locations through the time-ordered global reader
 *
 * Prints one line: events=N frames=N time_sum=N cpu_s=S wall_s=S rss_kb=N
 * `events` is libotf2's own count of records, `frames` and `time_sum` come from the call-backs for
 * enter and leave: the least that any tool does with an event. Times are corrected for clock drift
 * by libotf2, as a tool would ask of it. `time_sum` wraps at 2^64.
 */
#include <otf2/otf2.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct locations
{
    uint64_t  count;
    uint64_t  capacity;
    uint64_t* ids;
};

struct seen
{
    uint64_t frames;
    uint64_t time_sum;
};

static void
check( OTF2_ErrorCode code, const char* what )
{
    if ( code != OTF2_SUCCESS )
    {
        fprintf( stderr, "%s: %s\n", what, OTF2_Error_GetDescription( code ) );
        exit( 1 );
    }
}

static OTF2_CallbackCode
on_location( void*                 data,
             OTF2_LocationRef      location,
             OTF2_StringRef        name,
             OTF2_LocationType     type,
             uint64_t              events,
             OTF2_LocationGroupRef group )
{
    struct locations* all = data;
    ( void )name, ( void )type, ( void )events, ( void )group;
    if ( all->count == all->capacity )
    {
        return OTF2_CALLBACK_INTERRUPT;
    }
    all->ids[ all->count++ ] = location;
    return OTF2_CALLBACK_SUCCESS;
}

static inline OTF2_CallbackCode
count( void* data, OTF2_TimeStamp time )
{
    struct seen* seen = data;
    seen->frames++;
    seen->time_sum += time;
    return OTF2_CALLBACK_SUCCESS;
}

/* Enter and leave have the same arguments, but local and global readers do not. */
static OTF2_CallbackCode
on_local( OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void* data,
          OTF2_AttributeList* attributes, OTF2_RegionRef region )
{
    ( void )location, ( void )position, ( void )attributes, ( void )region;
    return count( data, time );
}

static OTF2_CallbackCode
on_merged( OTF2_LocationRef location, OTF2_TimeStamp time, void* data,
           OTF2_AttributeList* attributes, OTF2_RegionRef region )
{
    ( void )location, ( void )attributes, ( void )region;
    return count( data, time );
}

static struct locations
read_locations( OTF2_Reader* reader )
{
    struct locations all = { 0, 0, NULL };
    check( OTF2_Reader_GetNumberOfLocations( reader, &all.capacity ), "number of locations" );
    all.ids = calloc( all.capacity + 1, sizeof( *all.ids ) );
    if ( !all.ids )
    {
        fprintf( stderr, "out of memory\n" );
        exit( 1 );
    }

    OTF2_GlobalDefReader*          definitions = OTF2_Reader_GetGlobalDefReader( reader );
    OTF2_GlobalDefReaderCallbacks* callbacks   = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback( callbacks, on_location );
    check( OTF2_Reader_RegisterGlobalDefCallbacks( reader, definitions, callbacks, &all ),
           "definition call-backs" );
    OTF2_GlobalDefReaderCallbacks_Delete( callbacks );
    uint64_t read = 0;
    check( OTF2_Reader_ReadAllGlobalDefinitions( reader, definitions, &read ),
           "global definitions" );
    return all;
}

/* The local definitions hold the mapping tables and clock offsets that the event reader applies. */
static void
read_local_definitions( OTF2_Reader* reader, OTF2_LocationRef location )
{
    OTF2_DefReader* definitions = OTF2_Reader_GetDefReader( reader, location );
    if ( definitions )
    {
        uint64_t read = 0;
        check( OTF2_Reader_ReadAllLocalDefinitions( reader, definitions, &read ),
               "local definitions" );
        check( OTF2_Reader_CloseDefReader( reader, definitions ), "close definitions" );
    }
}

static uint64_t
read_local( OTF2_Reader* reader, const struct locations* all, struct seen* seen )
{
    OTF2_EvtReaderCallbacks* callbacks = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetEnterCallback( callbacks, on_local );
    OTF2_EvtReaderCallbacks_SetLeaveCallback( callbacks, on_local );
    uint64_t total = 0;
    for ( uint64_t i = 0; i < all->count; i++ )
    {
        OTF2_EvtReader* events = OTF2_Reader_GetEvtReader( reader, all->ids[ i ] );
        if ( !events )
        {
            continue;
        }
        check( OTF2_Reader_RegisterEvtCallbacks( reader, events, callbacks, seen ),
               "event call-backs" );
        uint64_t read = 0;
        check( OTF2_Reader_ReadAllLocalEvents( reader, events, &read ), "local events" );
        check( OTF2_Reader_CloseEvtReader( reader, events ), "close events" );
        total += read;
    }
    OTF2_EvtReaderCallbacks_Delete( callbacks );
    return total;
}

static uint64_t
read_merged( OTF2_Reader* reader, const struct locations* all, struct seen* seen )
{
    for ( uint64_t i = 0; i < all->count; i++ )
    {
        OTF2_Reader_GetEvtReader( reader, all->ids[ i ] );
    }
    OTF2_GlobalEvtReader*          events    = OTF2_Reader_GetGlobalEvtReader( reader );
    OTF2_GlobalEvtReaderCallbacks* callbacks = OTF2_GlobalEvtReaderCallbacks_New();
    OTF2_GlobalEvtReaderCallbacks_SetEnterCallback( callbacks, on_merged );
    OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback( callbacks, on_merged );
    check( OTF2_Reader_RegisterGlobalEvtCallbacks( reader, events, callbacks, seen ),
           "event call-backs" );
    OTF2_GlobalEvtReaderCallbacks_Delete( callbacks );
    uint64_t total = 0;
    check( OTF2_Reader_ReadAllGlobalEvents( reader, events, &total ), "merged events" );
    check( OTF2_Reader_CloseGlobalEvtReader( reader, events ), "close events" );
    return total;
}

static double
wall_seconds( void )
{
    struct timespec now;
    clock_gettime( CLOCK_MONOTONIC, &now );
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static double
seconds( struct timeval time )
{
    return time.tv_sec + time.tv_usec * 1e-6;
}

int
main( int argc, char** argv )
{
    int merge = argc == 3 && strcmp( argv[ 1 ], "merge" ) == 0;
    if ( argc != 3 || ( !merge && strcmp( argv[ 1 ], "local" ) != 0 ) )
    {
        fprintf( stderr, "usage: otf2 local|merge ANCHOR\n" );
        return 2;
    }
    double       start  = wall_seconds();
    OTF2_Reader* reader = OTF2_Reader_Open( argv[ 2 ] );
    if ( !reader )
    {
        fprintf( stderr, "%s: not an OTF2 archive\n", argv[ 2 ] );
        return 1;
    }
    check( OTF2_Reader_SetSerialCollectiveCallbacks( reader ), "collective call-backs" );
    struct locations all = read_locations( reader );
    for ( uint64_t i = 0; i < all.count; i++ )
    {
        check( OTF2_Reader_SelectLocation( reader, all.ids[ i ] ), "select location" );
    }
    /* An archive may have no local definition files: libotf2 then reads events as they are. */
    if ( OTF2_Reader_OpenDefFiles( reader ) == OTF2_SUCCESS )
    {
        for ( uint64_t i = 0; i < all.count; i++ )
        {
            read_local_definitions( reader, all.ids[ i ] );
        }
        check( OTF2_Reader_CloseDefFiles( reader ), "close definition files" );
    }
    check( OTF2_Reader_OpenEvtFiles( reader ), "event files" );

    struct seen seen   = { 0, 0 };
    uint64_t    events = merge ? read_merged( reader, &all, &seen )
                               : read_local( reader, &all, &seen );
    check( OTF2_Reader_CloseEvtFiles( reader ), "close event files" );
    check( OTF2_Reader_Close( reader ), "close archive" );
    free( all.ids );

    struct rusage use;
    getrusage( RUSAGE_SELF, &use );
    printf( "events=%" PRIu64 " frames=%" PRIu64 " time_sum=%" PRIu64
            " cpu_s=%.6f wall_s=%.6f rss_kb=%ld\n",
            events, seen.frames, seen.time_sum, seconds( use.ru_utime ) + seconds( use.ru_stime ),
            wall_seconds() - start, use.ru_maxrss );
    return 0;
}
