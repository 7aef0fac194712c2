/* Times of MPI_Allreduce, for collectives_vs_mpi.py: medians in milliseconds, as JSON. The sums are
   out of place, as the package's are. Arguments: counts of floats. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 100000

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Half a second of sums; all ranks make the same number of them. */
static double median_time(float* in, float* out, int count) {
  static double times[MOST];
  int n = 0, over = 0;
  for (int k = 0; k < 3; ++k) MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  double end = MPI_Wtime() + 0.5;
  while (!over) {
    for (int k = 0; k < 5; ++k) {
      double start = MPI_Wtime();
      MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      times[n++] = MPI_Wtime() - start;
    }
    int flag = MPI_Wtime() > end || n + 5 > MOST;
    MPI_Allreduce(&flag, &over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  qsort(times, (size_t)n, sizeof *times, ascending);
  return 1e3 * times[n / 2];
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("[");
  for (int i = 1; i < argc; ++i) {
    int count = atoi(argv[i]);
    float* in = calloc((size_t)count, sizeof *in);
    float* out = calloc((size_t)count, sizeof *out);
    for (int k = 0; k < count; ++k) in[k] = 1;
    double ms = median_time(in, out, count);
    if (rank == 0) printf("%s%.6f", i > 1 ? ", " : "", ms);
    free(in);
    free(out);
  }
  if (rank == 0) printf("]\n");
  MPI_Finalize();
  return 0;
}
