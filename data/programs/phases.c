/* See phases.h. */
#include "phases.h"

#include <stddef.h>

static uint64_t work;

uint64_t phases_work(void) { return work; }

/* Index of a cell; the halo has the coordinates -1 and cells[axis]. */
static size_t at(const struct model *m, int x, int y, int z) {
  size_t row = (size_t)m->cells[1] + 2;
  size_t column = (size_t)m->cells[2] + 2;
  return ((size_t)(x + 1) * row + (size_t)(y + 1)) * column + (size_t)(z + 1);
}

/* Copies the layer `layer` of `axis` to the buffer, or from it. */
static int copy_face(struct model *m, int axis, int layer, double *buffer,
                     int out) {
  int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2, n = 0, p[3];
  p[axis] = layer;
  for (p[a] = 0; p[a] < m->cells[a]; p[a]++)
    for (p[b] = 0; p[b] < m->cells[b]; p[b]++, n++) {
      double *cell = &m->field[at(m, p[0], p[1], p[2])];
      if (out)
        buffer[n] = *cell;
      else
        *cell = buffer[n];
    }
  return n;
}

/* Both faces of one axis. Isend with Recv, and neither Irecv nor Sendrecv:
 * EZTrace 2.0 writes no event for the completion of the one and none at all for
 * the messages of the other, so these would have no receive. */
static void exchange_axis(struct model *m, int axis) {
  int side[2] = {m->below[axis], m->above[axis]};
  int inner[2] = {0, m->cells[axis] - 1};
  int halo[2] = {-1, m->cells[axis]};
  MPI_Request sent[2];
  for (int i = 0; i < 2; i++) {
    sent[i] = MPI_REQUEST_NULL;
    if (side[i] == MPI_PROC_NULL)
      continue;
    int n = copy_face(m, axis, inner[i], m->face_out[i], 1);
    MPI_Isend(m->face_out[i], n, MPI_DOUBLE, side[i], axis, m->cart, &sent[i]);
  }
  for (int i = 0; i < 2; i++) {
    if (side[i] == MPI_PROC_NULL)
      continue;
    MPI_Recv(m->face_in, m->face_cells, MPI_DOUBLE, side[i], axis, m->cart,
             MPI_STATUS_IGNORE);
    copy_face(m, axis, halo[i], m->face_in, 0);
  }
  MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
}

void exchange_halo(struct model *m) {
  for (int axis = 0; axis < 3; axis++)
    if (m->dims[axis] > 1)
      exchange_axis(m, axis);
}

void dynamics(struct model *m) {
  const double *f = m->field;
  size_t dx = at(m, 1, 0, 0) - at(m, 0, 0, 0);
  size_t dy = at(m, 0, 1, 0) - at(m, 0, 0, 0);
  int flat = m->cells[2] == 1;
  for (int x = 0; x < m->cells[0]; x++)
    for (int y = 0; y < m->cells[1]; y++)
      for (int z = 0; z < m->cells[2]; z++) {
        size_t c = at(m, x, y, z);
        double sum = f[c - dx] + f[c + dx] + f[c - dy] + f[c + dy];
        m->next[c] = flat ? sum / 4 : (sum + f[c - 1] + f[c + 1]) / 6;
      }
  double *swap = m->field;
  m->field = m->next;
  m->next = swap;
  work += (uint64_t)m->cells[0] * m->cells[1] * m->cells[2];
}

/* `updates` saturation adjustments, one cell after the other, round and round.
 * Each is a step of Newton's method, whose divisions the compiler can neither
 * drop nor spread over vector lanes: the result feeds the next one. */
static void adjust(struct model *m, uint64_t updates) {
  static volatile double kept;
  double q = 1;
  size_t first = at(m, 0, 0, 0);
  size_t cells = at(m, m->cells[0] - 1, m->cells[1] - 1, m->cells[2] - 1) - first;
  size_t c = 0;
  for (uint64_t i = 0; i < updates; i++) {
    q = 0.5 * (q + (1 + m->field[first + c]) / q);
    c = c + 1 < cells ? c + 1 : 0;
  }
  kept = q;
  (void)kept;
  work += updates;
}

void microphysics(struct model *m, uint64_t updates) { adjust(m, updates); }
void radiation(struct model *m, uint64_t updates) { adjust(m, updates); }
void surface(struct model *m, uint64_t updates) { adjust(m, updates); }

double residual(struct model *m) {
  double mine = 0, all = 0;
  for (int x = 0; x < m->cells[0]; x++)
    for (int y = 0; y < m->cells[1]; y++)
      for (int z = 0; z < m->cells[2]; z++) {
        size_t c = at(m, x, y, z);
        double change = m->field[c] - m->next[c];
        mine += change * change;
      }
  work += (uint64_t)m->cells[0] * m->cells[1] * m->cells[2];
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, m->cart);
  return all;
}
