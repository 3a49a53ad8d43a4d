/* Correlations of columns: mean, deviation, centred data, products. */
#pragma OPENCL FP_CONTRACT OFF

kernel void means(global float *mean, global const float *data, int columns, int rows) {
  int j = (int)get_global_id(0);
  if (j >= columns) return;
  float sum = 0;
  for (int i = 0; i < rows; i++) sum += data[i * columns + j];
  mean[j] = sum / (float)rows;
}

kernel void deviations(global float *deviation, global const float *mean, global const float *data, int columns,
                       int rows) {
  int j = (int)get_global_id(0);
  if (j >= columns) return;
  float sum = 0;
  for (int i = 0; i < rows; i++) {
    float off = data[i * columns + j] - mean[j];
    sum += off * off;
  }
  float own = sqrt(sum / (float)rows);
  deviation[j] = own <= 0.005f ? 1.0f : own;
}

kernel void centre(global float *data, global const float *mean, global const float *deviation, int columns, int rows) {
  int j = (int)get_global_id(0), i = (int)get_global_id(1);
  if (j >= columns || i >= rows) return;
  data[i * columns + j] = (data[i * columns + j] - mean[j]) / (sqrt((float)rows) * deviation[j]);
}

kernel void products(global float *correlation, global const float *data, int columns, int rows) {
  int first = (int)get_global_id(0);
  if (first >= columns) return;
  correlation[first * columns + first] = 1.0f;
  for (int second = first + 1; second < columns; second++) {
    float sum = 0;
    for (int i = 0; i < rows; i++) sum += data[i * columns + first] * data[i * columns + second];
    correlation[first * columns + second] = sum;
    correlation[second * columns + first] = sum;
  }
}
