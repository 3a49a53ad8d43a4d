/* Breadth first: each level visits the neighbours of the frontier, then makes the next frontier of them. */
kernel void visit(global int *distance, global uchar *frontier, global uchar *updating, global const uchar *visited,
                  global const int *starts, global const int *edges, int nodes) {
  int node = (int)get_global_id(0);
  if (node >= nodes || !frontier[node]) return;
  frontier[node] = 0;
  int next = distance[node] + 1;
  for (int i = starts[node]; i < starts[node + 1]; i++) {
    int neighbour = edges[i];
    if (visited[neighbour]) continue;
    distance[neighbour] = next;
    updating[neighbour] = 1;
  }
}

kernel void advance(global int *more, global uchar *frontier, global uchar *updating, global uchar *visited, int nodes) {
  int node = (int)get_global_id(0);
  if (node >= nodes || !updating[node]) return;
  frontier[node] = 1;
  visited[node] = 1;
  updating[node] = 0;
  *more = 1;
}
