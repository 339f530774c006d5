/* jacobi: a weather model in miniature, to record programs with a known fault.
 *
 * A Jacobi solver on a 2-D or 3-D grid of processes plays the dynamics. Beside
 * it every process computes cloud microphysics, as COSMO-SPECS does: cheap
 * where the sky is clear, and dearer with every iteration in the processes
 * under the cloud. All others wait for those in the next exchange.
 *
 * With --columns each process also computes radiation and surface. Both follow
 * the sun: their work has the shape cos(2 pi c / n) over the last axis of the
 * process grid. The cloud lies on top of that with opposite signs, more
 * radiation and less surface work under it, and is the stronger of the two. So
 * the plain correlation of the two phases is negative, though what drives them
 * along the last axis is the same.
 *
 * All work is counted in cell updates, never in time. */
#define _GNU_SOURCE
#include "phases.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char USAGE[] =
    "usage: mpirun -np N jacobi [OPTIONS] XxY[xZ]\n"
    "\n"
    "  XxY[xZ]         grid of processes; their product must be N\n"
    "  --iterations I  (default 50)\n"
    "  --cells C       cells of a process along each axis (default 64)\n"
    "  --cloud A-B     processes under the cloud: ranks, ranges, with commas\n"
    "                  (default none)\n"
    "  --clear U       microphysics under clear sky, in updates a cell and\n"
    "                  iteration (default 0.5)\n"
    "  --growth U      what each iteration adds to that under the cloud\n"
    "                  (default 0.1)\n"
    "  --columns       compute radiation and surface, too\n"
    "  --undisturbed   with more processes than cores: hand a core on only when\n"
    "                  a process waits, so that no phase is interrupted. Uses\n"
    "                  SCHED_FIFO, which needs CAP_SYS_NICE\n";

/* Mean of radiation and of surface, and what cloud and sun add to it or take
 * from it, all in updates a cell and iteration. */
static const double COLUMN_MEAN = 3.0;
static const double COLUMN_CLOUD = 1.5;
static const double COLUMN_SUN = 0.75;

struct options {
  int ndims;
  int dims[3];
  int iterations;
  int cells;
  const char *cloud;
  double clear;
  double growth;
  int columns;
  int undisturbed;
};

static void usage(int rank, const char *problem) {
  if (rank == 0)
    fprintf(stderr, "jacobi: %s\n\n%s", problem, USAGE);
  MPI_Finalize();
  exit(2);
}

static struct options parse(int argc, char **argv, int rank, int size) {
  struct options o = {.dims = {1, 1, 1}, .iterations = 50, .cells = 64,
                      .cloud = "", .clear = 0.5, .growth = 0.1};
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    if (strcmp(name, "--columns") == 0) {
      o.columns = 1;
    } else if (strcmp(name, "--undisturbed") == 0) {
      o.undisturbed = 1;
    } else if (strncmp(name, "--", 2) != 0) {
      o.ndims = sscanf(name, "%dx%dx%d", &o.dims[0], &o.dims[1], &o.dims[2]);
    } else if (++i == argc) {
      usage(rank, "an option lacks its value");
    } else if (strcmp(name, "--iterations") == 0) {
      o.iterations = atoi(argv[i]);
    } else if (strcmp(name, "--cells") == 0) {
      o.cells = atoi(argv[i]);
    } else if (strcmp(name, "--cloud") == 0) {
      o.cloud = argv[i];
    } else if (strcmp(name, "--clear") == 0) {
      o.clear = atof(argv[i]);
    } else if (strcmp(name, "--growth") == 0) {
      o.growth = atof(argv[i]);
    } else {
      usage(rank, "unknown option");
    }
  }
  if (o.ndims < 2 || o.dims[0] * o.dims[1] * o.dims[2] != size)
    usage(rank, "the grid does not fit the number of processes");
  if (o.iterations < 1 || o.cells < 1 || o.clear < 0 || o.growth < 0)
    usage(rank, "a value is out of range");
  return o;
}

/* Whether `list`, such as "5,6,9-10", names `rank`. */
static int listed(const char *list, int rank) {
  while (*list) {
    char *end;
    long first = strtol(list, &end, 10), last = first;
    if (*end == '-')
      last = strtol(end + 1, &end, 10);
    if (first <= rank && rank <= last)
      return 1;
    if (*end != ',')
      return 0;
    list = end + 1;
  }
  return 0;
}

static struct model build(const struct options *o) {
  struct model m = {0};
  int open[3] = {0, 0, 0};
  size_t total = 1;
  /* Without reordering a rank's place follows from its number: the last axis
   * runs fastest. */
  MPI_Cart_create(MPI_COMM_WORLD, o->ndims, o->dims, open, 0, &m.cart);
  MPI_Comm_rank(m.cart, &m.rank);
  MPI_Cart_coords(m.cart, m.rank, o->ndims, m.coords);
  for (int axis = 0; axis < 3; axis++) {
    m.dims[axis] = o->dims[axis];
    m.cells[axis] = axis < o->ndims ? o->cells : 1;
    m.below[axis] = m.above[axis] = MPI_PROC_NULL;
    if (axis < o->ndims)
      MPI_Cart_shift(m.cart, axis, 1, &m.below[axis], &m.above[axis]);
    total *= (size_t)m.cells[axis] + 2;
  }
  m.face_cells = o->cells * (o->ndims == 3 ? o->cells : 1);
  m.field = calloc(total, sizeof *m.field);
  m.next = calloc(total, sizeof *m.next);
  m.face_out[0] = calloc(m.face_cells, sizeof(double));
  m.face_out[1] = calloc(m.face_cells, sizeof(double));
  m.face_in = calloc(m.face_cells, sizeof(double));
  if (!m.field || !m.next || !m.face_out[0] || !m.face_out[1] || !m.face_in) {
    fprintf(stderr, "jacobi: out of memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (size_t i = 0; i < total; i++)
    m.field[i] = m.next[i] = (double)((i + (size_t)m.rank) % 17) / 17;
  return m;
}

/* Cell updates of a process that does `each` on every cell. */
static uint64_t updates(const struct model *m, double each) {
  return (uint64_t)llround(each * m->cells[0] * m->cells[1] * m->cells[2]);
}

/* Waiting processes poll and yield. The fair scheduler counts that polling as
 * use of the core and interrupts whoever computes in return; a first-in
 * first-out queue does not. */
static void schedule(int policy, int priority) {
  struct sched_param p = {.sched_priority = priority};
  if (sched_setscheduler(0, policy, &p) != 0)
    perror("jacobi: --undisturbed has no effect");
}

/* Puts every process in that queue. The pause lets the last of them get there:
 * who is not yet in it gets no core while the others poll. */
static void enter_queue(MPI_Comm comm) {
  struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
  MPI_Barrier(comm);
  schedule(SCHED_FIFO, 1);
  nanosleep(&pause, NULL);
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct options o = parse(argc, argv, rank, size);
  struct model m = build(&o);

  int cloudy = listed(o.cloud, m.rank);
  int last = o.ndims - 1;
  double sun = cos(2 * M_PI * m.coords[last] / m.dims[last]);
  double cloud = cloudy ? COLUMN_CLOUD : -COLUMN_CLOUD;
  double left = 0;

  if (o.undisturbed)
    enter_queue(m.cart);
  for (int i = 0; i < o.iterations; i++) {
    exchange_halo(&m);
    dynamics(&m);
    exchange_halo(&m);
    microphysics(&m, updates(&m, o.clear + (cloudy ? o.growth * i : 0)));
    if (o.columns) {
      radiation(&m, updates(&m, COLUMN_MEAN + cloud + COLUMN_SUN * sun));
      surface(&m, updates(&m, COLUMN_MEAN - cloud + COLUMN_SUN * sun));
    }
    left = residual(&m);
  }
  if (o.undisturbed)
    schedule(SCHED_OTHER, 0);
  if (m.rank == 0)
    printf("residual %g after %d iterations\n", left, o.iterations);

  free(m.field);
  free(m.next);
  free(m.face_out[0]);
  free(m.face_out[1]);
  free(m.face_in);
  MPI_Comm_free(&m.cart);
  MPI_Finalize();
  return 0;
}
