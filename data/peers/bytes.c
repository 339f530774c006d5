/*
 * Reads all bytes of a file and adds them up as numbers, and does nothing else: the least that
 * reading all rows of an unpacked profile can cost.
 *
 *     bytes FILE
 *
 * Prints one line: cpu_s=S wall_s=S rss_kb=N
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Larger and smaller pieces cost more. */
#define PIECE ( 64 * 1024 )

static double
seconds( clockid_t clock )
{
    struct timespec now;
    clock_gettime( clock, &now );
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int
main( int argc, char** argv )
{
    if ( argc != 2 )
    {
        fprintf( stderr, "usage: bytes FILE\n" );
        return 2;
    }
    double wall = seconds( CLOCK_MONOTONIC );
    double cpu  = seconds( CLOCK_PROCESS_CPUTIME_ID );
    int    file = open( argv[ 1 ], O_RDONLY );
    if ( file < 0 )
    {
        perror( argv[ 1 ] );
        return 1;
    }
    static double piece[ PIECE / sizeof( double ) ];
    double        sums[ 8 ] = { 0 };
    off_t         at        = 0;
    ssize_t       got;
    while ( ( got = pread( file, piece, PIECE, at ) ) > 0 )
    {
        for ( size_t i = 0; i + 8 <= got / sizeof( double ); i += 8 )
        {
            for ( int lane = 0; lane < 8; lane++ )
            {
                sums[ lane ] += piece[ i + lane ];
            }
        }
        at += got;
    }
    wall = seconds( CLOCK_MONOTONIC ) - wall;
    cpu  = seconds( CLOCK_PROCESS_CPUTIME_ID ) - cpu;
    struct rusage use;
    getrusage( RUSAGE_SELF, &use );
    /* The sum means nothing, as the file is more than numbers; without it nothing would be added. */
    volatile double sum = 0;
    for ( int lane = 0; lane < 8; lane++ )
    {
        sum += sums[ lane ];
    }
    printf( "cpu_s=%.4f wall_s=%.4f rss_kb=%ld\n", cpu, wall, use.ru_maxrss );
    return got < 0;
}
