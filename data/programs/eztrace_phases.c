/* EZTrace module `phases`: records the phases of jacobi as regions, and the
 * work they have done as a metric.
 *
 * EZTrace preloads the module, so the functions below stand in front of those
 * of libphases.so, which they call in turn. EZTrace 2.0 knows no metrics; these
 * are written through the OTF2 writers it holds open. */
#include "phases.h"

#include <eztrace-lib/eztrace.h>
#include <eztrace-lib/eztrace_module.h>

#define CURRENT_MODULE phases
DECLARE_CURRENT_MODULE;

static void (*real_exchange_halo)(struct model *);
static void (*real_dynamics)(struct model *);
static void (*real_microphysics)(struct model *, uint64_t);
static void (*real_radiation)(struct model *, uint64_t);
static void (*real_surface)(struct model *, uint64_t);
static double (*real_residual)(struct model *);

PPTRACE_START_INTERCEPT_FUNCTIONS(phases)
INTERCEPT3("exchange_halo", real_exchange_halo)
INTERCEPT3("dynamics", real_dynamics)
INTERCEPT3("microphysics", real_microphysics)
INTERCEPT3("radiation", real_radiation)
INTERCEPT3("surface", real_surface)
INTERCEPT3("residual", real_residual)
PPTRACE_END_INTERCEPT_FUNCTIONS(phases);

/* The one metric and the class that holds it. */
enum { WORK = 0 };

/* Global definitions are rank 0's to write; the others just use the number. */
static void define_work(void) {
  static int defined;
  if (defined || ezt_mpi_rank != 0)
    return;
  defined = 1;
  OTF2_GlobalDefWriter *w = _ezt_trace.global_def_writer;
  OTF2_MetricMemberRef member = WORK;
  EZT_OTF2_CHECK(OTF2_GlobalDefWriter_WriteMetricMember(
      w, member, ezt_otf2_register_string("work"),
      ezt_otf2_register_string("cells updated since the start"),
      OTF2_METRIC_TYPE_USER, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64,
      OTF2_BASE_DECIMAL, 0, ezt_otf2_register_string("cells")));
  EZT_OTF2_CHECK(OTF2_GlobalDefWriter_WriteMetricClass(
      w, WORK, 1, &member, OTF2_METRIC_SYNCHRONOUS, OTF2_RECORDER_KIND_CPU));
}

static void record_work(OTF2_TimeStamp now) {
  OTF2_Type type = OTF2_TYPE_UINT64;
  OTF2_MetricValue value = {.unsigned_int = phases_work()};
  define_work();
  EZT_OTF2_CHECK(
      OTF2_EvtWriter_Metric(evt_writer, NULL, now, WORK, 1, &type, &value));
}

/* Number of the region, or -1 where nothing may be recorded. */
static int region(const char *name) {
  if (!eztrace_can_trace || !EZTRACE_SAFE)
    return -1;
  struct ezt_instrumented_function *f =
      find_instrumented_function(name, INSTRUMENTED_FUNCTIONS);
  if (f->event_id < 0)
    instrument_function(f);
  return f->event_id;
}

/* As Score-P has it: the metric first, then the event, at the same time. */
static int enter(const char *name) {
  int id = region(name);
  if (id >= 0) {
    OTF2_TimeStamp now = ezt_get_timestamp();
    record_work(now);
    EZT_OTF2_EvtWriter_Enter(evt_writer, NULL, now, id);
  }
  return id;
}

static void leave(int id) {
  if (id >= 0) {
    OTF2_TimeStamp now = ezt_get_timestamp();
    record_work(now);
    EZT_OTF2_EvtWriter_Leave(evt_writer, NULL, now, id);
  }
}

void exchange_halo(struct model *m) {
  int id = enter(__func__);
  real_exchange_halo(m);
  leave(id);
}

void dynamics(struct model *m) {
  int id = enter(__func__);
  real_dynamics(m);
  leave(id);
}

void microphysics(struct model *m, uint64_t updates) {
  int id = enter(__func__);
  real_microphysics(m, updates);
  leave(id);
}

void radiation(struct model *m, uint64_t updates) {
  int id = enter(__func__);
  real_radiation(m, updates);
  leave(id);
}

void surface(struct model *m, uint64_t updates) {
  int id = enter(__func__);
  real_surface(m, updates);
  leave(id);
}

double residual(struct model *m) {
  int id = enter(__func__);
  double left = real_residual(m);
  leave(id);
  return left;
}

static void start(void) {
  INSTRUMENT_FUNCTIONS(phases);
  if (eztrace_autostart_enabled())
    eztrace_start();
}

static void stop(void) { eztrace_stop(); }

__attribute__((constructor)) static void load(void) {
  EZT_REGISTER_MODULE(phases, "Phases of jacobi", start, stop);
}
