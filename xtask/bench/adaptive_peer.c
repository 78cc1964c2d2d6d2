// The plain way to a gradient in continuous time: MuJoCo's acceleration under an adaptive Dormand-Prince pair, and central
// differences. Answers one JSON line to every line on standard input, with the CPU time of a value and one derivative.
//
//   cc -O2 adaptive_peer.c -I$MUJOCO/include $MUJOCO/libmujoco.so.4.0.0 -Wl,-rpath,$MUJOCO -lm -o adaptive_peer
//   adaptive_peer MODEL TOLERANCE SECONDS HEIGHT SIDEWAYS SPEED
//
// For models of one free body: it starts at a height with a velocity sideways and upwards; asked for is its sideways
// position at the end, by the velocity upwards.
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIZE 13
#define STAGES 7
#define SHIFT 1e-3
#define LONGEST 0.05

typedef struct {
  mjModel *model;
  mjData *data;
  double tolerance, seconds, height, sideways;
} Problem;

// Position, quaternion, velocity, angular velocity in the frame of the body.
static void rates(const Problem *problem, const double *y, double *out) {
  mjData *data = problem->data;
  memcpy(data->qpos, y, 7 * sizeof(double));
  memcpy(data->qvel, y + 7, 6 * sizeof(double));
  mju_normalize4(data->qpos + 3);
  mj_forward(problem->model, data);
  memcpy(out, y + 7, 3 * sizeof(double));
  mju_derivQuat(out + 3, y + 3, y + 10);
  memcpy(out + 7, data->qacc, 6 * sizeof(double));
}

static const double PAIR[STAGES][STAGES - 1] = {
    {0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
static const double ERROR[STAGES] = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                     -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

// The sideways position at the end.
static double follow(const Problem *problem, double speed) {
  double y[SIZE] = {0}, next[SIZE], k[STAGES][SIZE];
  memcpy(y, problem->model->qpos0, 7 * sizeof(double));
  y[2] = problem->height;
  y[8] = problem->sideways;
  y[9] = speed;
  mj_resetData(problem->model, problem->data);
  rates(problem, y, k[0]);
  double time = 0, step = 1e-4;
  while (time < problem->seconds) {
    int is_last = time + step >= problem->seconds;
    double h = is_last ? problem->seconds - time : step;
    for (int stage = 1; stage < STAGES; stage++) {
      for (int i = 0; i < SIZE; i++) {
        double slope = 0;
        for (int j = 0; j < stage; j++) slope += PAIR[stage][j] * k[j][i];
        next[i] = y[i] + h * slope;
      }
      rates(problem, next, k[stage]);
    }
    double worst = 0;
    for (int i = 0; i < SIZE; i++) {
      double error = 0;
      for (int j = 0; j < STAGES; j++) error += ERROR[j] * k[j][i];
      double allowed = problem->tolerance * (1 + fmax(fabs(y[i]), fabs(next[i])));
      worst = fmax(worst, fabs(h * error) / allowed);
    }
    double factor = worst > 0 ? fmin(4, fmax(0.2, 0.9 * pow(worst, -0.2))) : 4;
    if (worst <= 1 || h < 1e-13) {
      time = is_last ? problem->seconds : time + h;
      memcpy(y, next, sizeof y);
      mju_normalize4(y + 3);
      memcpy(k[0], k[STAGES - 1], sizeof k[0]);
    }
    step = fmin(LONGEST, h * factor);
  }
  return y[1];
}

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **arguments) {
  if (count != 7) return 2;
  char message[1000] = "", line[4096];
  Problem problem = {mj_loadXML(arguments[1], NULL, message, sizeof message), NULL, atof(arguments[2]),
                     atof(arguments[3]), atof(arguments[4]), atof(arguments[5])};
  double speed = atof(arguments[6]);
  if (!problem.model || problem.model->nq != 7) {
    fprintf(stderr, "not a model of one free body: %s\n", message);
    return 1;
  }
  mjOption *option = &problem.model->opt;
  option->iterations = option->ls_iterations = 200;
  option->tolerance = 1e-15;
  option->ls_tolerance = 1e-9;
  option->disableflags |= mjDSBL_WARMSTART;
  problem.data = mj_makeData(problem.model);
  while (fgets(line, sizeof line, stdin)) {
    double begin = cpu_seconds();
    double value = follow(&problem, speed);
    double derivative = (follow(&problem, speed + SHIFT) - follow(&problem, speed - SHIFT)) / (2 * SHIFT);
    double microseconds = 1e6 * (cpu_seconds() - begin);
    printf("{\"microseconds\": %.3f, \"contacts\": 0, \"value\": %.12g, \"derivative\": %.12g}\n", microseconds, value,
           derivative);
    fflush(stdout);
  }
  return 0;
}
