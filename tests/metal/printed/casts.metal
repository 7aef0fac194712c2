// program.cuh
MLX_KERNEL(program, Words<4>, p) {
  using I = uint32_t;
  constexpr int U = 2, V = 4;
  const auto in0 = memory<const float16_t>(p.w[2]);
  const auto out0 = memory<int64_t>(p.w[3]);
  const I n = static_cast<I>(p.w[0]), mlx_half = n / 2, end = n;
  for (I first = (static_cast<I>(mlx_block) * (kThreads * U) + mlx_thread) * V; first < end;
       first += static_cast<I>(mlx_blocks) * (kThreads * U * V)) {
    float16_t a0[U][V];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      load_some(a0[u], in0 + (i), left);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      int64_t r0[V];
#pragma unroll
      for (int k = 0; k < V; ++k) {
      const float16_t v0 = a0[u][k];
      const float v1 = cast<float>(v0);
      const uint64_t v2 = cast<uint64_t>(v1);
      const float v3 = cast<float>(v2);
      const uint32_t v4 = cast<uint32_t>(v3);
      const float v5 = cast<float>(v4);
      const uint16_t v6 = cast<uint16_t>(v5);
      const float v7 = cast<float>(v6);
      const uint8_t v8 = cast<uint8_t>(v7);
      const float v9 = cast<float>(v8);
      const int64_t v10 = cast<int64_t>(v9);
      const float v11 = cast<float>(v10);
      const int32_t v12 = cast<int32_t>(v11);
      const float v13 = cast<float>(v12);
      const int16_t v14 = cast<int16_t>(v13);
      const float v15 = cast<float>(v14);
      const int8_t v16 = cast<int8_t>(v15);
      const float v17 = cast<float>(v16);
      const bool v18 = cast<bool>(v17);
      const bfloat16_t v19 = cast<bfloat16_t>(v18);
      const float16_t v20 = cast<float16_t>(v19);
      const bfloat16_t v21 = cast<bfloat16_t>(v20);
      const uint64_t v22 = cast<uint64_t>(v21);
      const bfloat16_t v23 = cast<bfloat16_t>(v22);
      const uint32_t v24 = cast<uint32_t>(v23);
      const bfloat16_t v25 = cast<bfloat16_t>(v24);
      const uint16_t v26 = cast<uint16_t>(v25);
      const bfloat16_t v27 = cast<bfloat16_t>(v26);
      const uint8_t v28 = cast<uint8_t>(v27);
      const bfloat16_t v29 = cast<bfloat16_t>(v28);
      const int64_t v30 = cast<int64_t>(v29);
      const bfloat16_t v31 = cast<bfloat16_t>(v30);
      const int32_t v32 = cast<int32_t>(v31);
      const bfloat16_t v33 = cast<bfloat16_t>(v32);
      const int16_t v34 = cast<int16_t>(v33);
      const bfloat16_t v35 = cast<bfloat16_t>(v34);
      const int8_t v36 = cast<int8_t>(v35);
      const bfloat16_t v37 = cast<bfloat16_t>(v36);
      const bool v38 = cast<bool>(v37);
      const float16_t v39 = cast<float16_t>(v38);
      const uint64_t v40 = cast<uint64_t>(v39);
      const float16_t v41 = cast<float16_t>(v40);
      const uint32_t v42 = cast<uint32_t>(v41);
      const float16_t v43 = cast<float16_t>(v42);
      const uint16_t v44 = cast<uint16_t>(v43);
      const float16_t v45 = cast<float16_t>(v44);
      const uint8_t v46 = cast<uint8_t>(v45);
      const float16_t v47 = cast<float16_t>(v46);
      const int64_t v48 = cast<int64_t>(v47);
      const float16_t v49 = cast<float16_t>(v48);
      const int32_t v50 = cast<int32_t>(v49);
      const float16_t v51 = cast<float16_t>(v50);
      const int16_t v52 = cast<int16_t>(v51);
      const float16_t v53 = cast<float16_t>(v52);
      const int8_t v54 = cast<int8_t>(v53);
      const float16_t v55 = cast<float16_t>(v54);
      const bool v56 = cast<bool>(v55);
      const uint64_t v57 = cast<uint64_t>(v56);
      const uint32_t v58 = cast<uint32_t>(v57);
      const uint64_t v59 = cast<uint64_t>(v58);
      const uint16_t v60 = cast<uint16_t>(v59);
      const uint64_t v61 = cast<uint64_t>(v60);
      const uint8_t v62 = cast<uint8_t>(v61);
      const uint64_t v63 = cast<uint64_t>(v62);
      const int64_t v64 = cast<int64_t>(v63);
      r0[k] = v64;
      }
      store_some(out0 + (i), r0, left);
    }
  }
}
// program.cuh
MLX_KERNEL(program, Words<4>, p) {
  using I = uint32_t;
  constexpr int U = 2, V = 4;
  const auto in0 = memory<const int64_t>(p.w[2]);
  const auto out0 = memory<bool>(p.w[3]);
  const I n = static_cast<I>(p.w[0]), mlx_half = n / 2, end = n;
  for (I first = (static_cast<I>(mlx_block) * (kThreads * U) + mlx_thread) * V; first < end;
       first += static_cast<I>(mlx_blocks) * (kThreads * U * V)) {
    int64_t a0[U][V];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      load_some(a0[u], in0 + (i), left);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      bool r0[V];
#pragma unroll
      for (int k = 0; k < V; ++k) {
      const int64_t v0 = a0[u][k];
      const uint64_t v1 = cast<uint64_t>(v0);
      const int32_t v2 = cast<int32_t>(v1);
      const uint64_t v3 = cast<uint64_t>(v2);
      const int16_t v4 = cast<int16_t>(v3);
      const uint64_t v5 = cast<uint64_t>(v4);
      const int8_t v6 = cast<int8_t>(v5);
      const uint64_t v7 = cast<uint64_t>(v6);
      const bool v8 = cast<bool>(v7);
      const uint32_t v9 = cast<uint32_t>(v8);
      const uint16_t v10 = cast<uint16_t>(v9);
      const uint32_t v11 = cast<uint32_t>(v10);
      const uint8_t v12 = cast<uint8_t>(v11);
      const uint32_t v13 = cast<uint32_t>(v12);
      const int64_t v14 = cast<int64_t>(v13);
      const uint32_t v15 = cast<uint32_t>(v14);
      const int32_t v16 = cast<int32_t>(v15);
      const uint32_t v17 = cast<uint32_t>(v16);
      const int16_t v18 = cast<int16_t>(v17);
      const uint32_t v19 = cast<uint32_t>(v18);
      const int8_t v20 = cast<int8_t>(v19);
      const uint32_t v21 = cast<uint32_t>(v20);
      const bool v22 = cast<bool>(v21);
      const uint16_t v23 = cast<uint16_t>(v22);
      const uint8_t v24 = cast<uint8_t>(v23);
      const uint16_t v25 = cast<uint16_t>(v24);
      const int64_t v26 = cast<int64_t>(v25);
      const uint16_t v27 = cast<uint16_t>(v26);
      const int32_t v28 = cast<int32_t>(v27);
      const uint16_t v29 = cast<uint16_t>(v28);
      const int16_t v30 = cast<int16_t>(v29);
      const uint16_t v31 = cast<uint16_t>(v30);
      const int8_t v32 = cast<int8_t>(v31);
      const uint16_t v33 = cast<uint16_t>(v32);
      const bool v34 = cast<bool>(v33);
      const uint8_t v35 = cast<uint8_t>(v34);
      const int64_t v36 = cast<int64_t>(v35);
      const uint8_t v37 = cast<uint8_t>(v36);
      const int32_t v38 = cast<int32_t>(v37);
      const uint8_t v39 = cast<uint8_t>(v38);
      const int16_t v40 = cast<int16_t>(v39);
      const uint8_t v41 = cast<uint8_t>(v40);
      const int8_t v42 = cast<int8_t>(v41);
      const uint8_t v43 = cast<uint8_t>(v42);
      const bool v44 = cast<bool>(v43);
      const int64_t v45 = cast<int64_t>(v44);
      const int32_t v46 = cast<int32_t>(v45);
      const int64_t v47 = cast<int64_t>(v46);
      const int16_t v48 = cast<int16_t>(v47);
      const int64_t v49 = cast<int64_t>(v48);
      const int8_t v50 = cast<int8_t>(v49);
      const int64_t v51 = cast<int64_t>(v50);
      const bool v52 = cast<bool>(v51);
      const int32_t v53 = cast<int32_t>(v52);
      const int16_t v54 = cast<int16_t>(v53);
      const int32_t v55 = cast<int32_t>(v54);
      const int8_t v56 = cast<int8_t>(v55);
      const int32_t v57 = cast<int32_t>(v56);
      const bool v58 = cast<bool>(v57);
      const int16_t v59 = cast<int16_t>(v58);
      const int8_t v60 = cast<int8_t>(v59);
      const int16_t v61 = cast<int16_t>(v60);
      const bool v62 = cast<bool>(v61);
      const int8_t v63 = cast<int8_t>(v62);
      const bool v64 = cast<bool>(v63);
      r0[k] = v64;
      }
      store_some(out0 + (i), r0, left);
    }
  }
}
// program.cuh
MLX_KERNEL(program, Words<4>, p) {
  using I = uint32_t;
  constexpr int U = 2, V = 8;
  const auto in0 = memory<const bool>(p.w[2]);
  const auto out0 = memory<float16_t>(p.w[3]);
  const I n = static_cast<I>(p.w[0]), mlx_half = n / 2, end = n;
  for (I first = (static_cast<I>(mlx_block) * (kThreads * U) + mlx_thread) * V; first < end;
       first += static_cast<I>(mlx_blocks) * (kThreads * U * V)) {
    bool a0[U][V];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      load_some(a0[u], in0 + (i), left);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      float16_t r0[V];
#pragma unroll
      for (int k = 0; k < V; ++k) {
      const bool v0 = a0[u][k];
      const complex64_t v1 = cast<complex64_t>(v0);
      const float v2 = cast<float>(v1);
      const complex64_t v3 = cast<complex64_t>(v2);
      const bfloat16_t v4 = cast<bfloat16_t>(v3);
      const complex64_t v5 = cast<complex64_t>(v4);
      const float16_t v6 = cast<float16_t>(v5);
      const complex64_t v7 = cast<complex64_t>(v6);
      const uint64_t v8 = cast<uint64_t>(v7);
      const complex64_t v9 = cast<complex64_t>(v8);
      const uint32_t v10 = cast<uint32_t>(v9);
      const complex64_t v11 = cast<complex64_t>(v10);
      const uint16_t v12 = cast<uint16_t>(v11);
      const complex64_t v13 = cast<complex64_t>(v12);
      const uint8_t v14 = cast<uint8_t>(v13);
      const complex64_t v15 = cast<complex64_t>(v14);
      const int64_t v16 = cast<int64_t>(v15);
      const complex64_t v17 = cast<complex64_t>(v16);
      const int32_t v18 = cast<int32_t>(v17);
      const complex64_t v19 = cast<complex64_t>(v18);
      const int16_t v20 = cast<int16_t>(v19);
      const complex64_t v21 = cast<complex64_t>(v20);
      const int8_t v22 = cast<int8_t>(v21);
      const complex64_t v23 = cast<complex64_t>(v22);
      const bool v24 = cast<bool>(v23);
      const float v25 = cast<float>(v24);
      const bfloat16_t v26 = cast<bfloat16_t>(v25);
      const float v27 = cast<float>(v26);
      const float16_t v28 = cast<float16_t>(v27);
      r0[k] = v28;
      }
      store_some(out0 + (i), r0, left);
    }
  }
}
