/*
 * Runs a program that does not measure itself, to compare with.
 *
 *     measure COMMAND [ARGUMENT...]
 *
 * What the command prints goes nowhere. Prints one line: cpu_s=S wall_s=S rss_kb=N
 * and ends with the exit code of the command.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
    if ( argc < 2 )
    {
        fprintf( stderr, "usage: measure COMMAND [ARGUMENT...]\n" );
        return 2;
    }
    double start = wall_seconds();
    pid_t  child = fork();
    if ( child < 0 )
    {
        perror( "fork" );
        return 1;
    }
    if ( child == 0 )
    {
        int nowhere = open( "/dev/null", O_WRONLY );
        if ( nowhere >= 0 )
        {
            dup2( nowhere, STDOUT_FILENO );
        }
        execvp( argv[ 1 ], argv + 1 );
        perror( argv[ 1 ] );
        _exit( 127 );
    }
    int           status = 0;
    struct rusage use;
    if ( wait4( child, &status, 0, &use ) != child )
    {
        perror( "wait4" );
        return 1;
    }
    printf( "cpu_s=%.6f wall_s=%.6f rss_kb=%ld\n", seconds( use.ru_utime ) + seconds( use.ru_stime ),
            wall_seconds() - start, use.ru_maxrss );
    return WIFEXITED( status ) ? WEXITSTATUS( status ) : 1;
}
