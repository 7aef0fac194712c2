// reduce_vectors.cuh
struct Arguments : ReduceArguments {
  ProgramOperand in_[2];
  int64_t constants[3];
};
struct Source {
  struct Fetched {
    Neighbours<float, 4> f0;
  };
  static MLX_CONSTANT int kFetches = 8;
  MLX_ARGUMENTS const Arguments& p;
  DevicePointer<const float> in0;
  const Neighbours<float, 4> f1;
  MLX_FN Source(MLX_ARGUMENTS const Arguments& p, int64_t output)
    : p(p),
      in0(memory<const float>(p.in_[0].address) + offset_of(p.in_[0].kept, output)),
      f1(*neighbours<const Neighbours<float, 4>>(memory<const float>(p.in_[1].address) + offset_of(p.in_[1].kept, output))) {}
  MLX_FN Fetched fetch(int64_t i) const {
    Fetched x;
    x.f0 = *neighbours<const Neighbours<float, 4>>(in0 + i * p.in_[0].reduced.strides[0]);
    return x;
  }
  MLX_FN auto value(MLX_THREAD const Fetched& x, int j) const {
    const float v0 = x.f0.x[j];
    const float v1 = f1.x[j];
    const float v2 = mlx_constant<float>(p.constants[0], p.constants[1]);
      const float v3 = row<float>(bodies::subtract{}, v0, v1);
      const float v4 = row<float>(bodies::square{}, v3);
      const float v5 = row<float>(bodies::multiply{}, v4, v2);
    return v5;
  }
};
MLX_SHARING_KERNEL(reduce_vectors_kernel, Arguments, p) { mlx_device::reduce_vector_columns<Sum<float, float>, Plain, float, Source, 4, 16>(MLX_PLACE_IN_STEP, p); }
