/* The phases of one iteration of jacobi.
 *
 * They live in a shared library of their own, libphases.so, because EZTrace
 * sees a function only where it can put its own in front of it: at a call that
 * crosses from the program into a library. */
#ifndef PHASES_H
#define PHASES_H

#include <mpi.h>
#include <stdint.h>

/* Two grids of process-local cells with a halo of one cell, and the process's
 * place among the others. A 2-D run is a 3-D one with a single layer of cells
 * and a single layer of processes. */
struct model {
  MPI_Comm cart;
  int rank;
  int dims[3];   /* processes along each axis */
  int coords[3]; /* this process's place among them */
  int cells[3];  /* cells of this process along each axis, without halo */
  int below[3];  /* neighbour towards lower coordinates, or MPI_PROC_NULL */
  int above[3];
  double *field;
  double *next;
  int face_cells; /* of the largest face: room in each of the next three */
  double *face_out[2];
  double *face_in;
};

/* Cells updated by this process so far, over all phases. */
uint64_t phases_work(void);

/* Swaps the faces of `field` with the neighbours. */
void exchange_halo(struct model *m);

/* One Jacobi sweep: every cell becomes the mean of its neighbours. */
void dynamics(struct model *m);

/* Column physics. Each does `updates` cell updates, a few ns apiece, and
 * leaves the field as it was: what matters here is the time they take. */
void microphysics(struct model *m, uint64_t updates);
void radiation(struct model *m, uint64_t updates);
void surface(struct model *m, uint64_t updates);

/* The change of the last sweep, summed over all processes. */
double residual(struct model *m);

#endif
