"""Dtypes and other names, memory, streams, files, exported functions, groups, and what compile, vjp
and vmap refuse."""
# ruff: noqa: E501

from calls._make import ALL, expand, lines

NUMBERS = "get_active_memory get_cache_memory get_peak_memory get_memory_limit"

CALLS = [
    # names
    *expand("mx.{n}(x({d}, 3, lo=1), x({d}, 3, lo=1, s=1))", n="atan2 pow", d=ALL),
    *expand("mx.{n}(x({d}, 3, lo=1), 2)", n="bitwise_left_shift bitwise_right_shift", d=ALL),
    *expand("mx.zeros(2, mx.{d})", d="bool_ uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64"),
    *expand("(mx.{d}.size, repr(mx.{d}), mx.issubdtype(mx.{d}, mx.integer))", d="bool_ uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64"),
    *expand("type(mx.{n}).__name__", n="float32 floating cpu array euler_gamma default_device()"),
    *expand("isinstance(mx.float32, mx.{n})", n="Dtype DtypeCategory"),
    *expand("isinstance(mx.floating, mx.{n})", n="Dtype DtypeCategory"),
    *lines("""
        isinstance(mx.ones(2).at, mx.ArrayAt)
        isinstance(iter(mx.ones(2)), mx.ArrayIterator)
        isinstance(mx.cpu, mx.DeviceType)
        isinstance(mx.default_stream(mx.cpu), mx.Stream)
        [type(m).__name__ for m in (mx.fast, mx.fft, mx.linalg, mx.random, mx.metal, mx.cuda, mx.distributed)]
        mx.Dtype()
        mx.no_such_name
        mx.gather_qqmm(x(f32, 2, 64))
        mx.einsum_path('ij,jk', x(f32, 2, 3), x(f32, 3, 2))[0]
        mx.einsum_path('ij,jk', x(f32, 2, 3))
        mx.allclose(x(f32, 3), x(f32, 3) + 1e-9)
        mx.allclose(x(f32, 3), x(f32, 2))
        mx.allclose(A([nan]), A([nan]), equal_nan=True)
        mx.allclose(x(c64, 3), x(c64, 3))
        mx.to_fp8(x(f32, 8))
        mx.from_fp8(mx.to_fp8(x(f32, 8)), f32)
        mx.from_fp8(x(i32, 3), f32)
        mx.to_fp8(special(f32))
        mx.from_fp8(A([0, 1, 127, 128, 255], u8), f16)
        mx.from_fp8(A([0, 1, 127, 128, 255], u8), i32)
    """),
    *lines("""
        isinstance(mx.printoptions(precision=3), mx.PrintOptions)
        issubclass(mx.ArrayLike, object)
        sorted(mx.__array_namespace_info__().capabilities())
    """),
    # memory
    *expand("type(mx.{n}()).__name__", n=NUMBERS),
    *expand("mx.{n}() >= 0", n=NUMBERS),
    *expand("mx.{n}(1)", n="get_active_memory get_peak_memory clear_cache reset_peak_memory"),
    *lines("""
        a = mx.zeros(2**20); mx.eval(a); mx.get_active_memory() >= 2**22
        a = mx.zeros(2**20) + 1; mx.eval(a); mx.get_peak_memory() >= 2**22
        mx.clear_cache(); mx.get_cache_memory()
        mx.reset_peak_memory()
        mx.reset_peak_memory(); mx.get_peak_memory()
        mx.set_cache_limit(2**30); mx.set_cache_limit(2**31)
        mx.set_cache_limit(-1)
        mx.set_cache_limit('a')
        mx.set_cache_limit(1.5)
        old = mx.set_memory_limit(2**34); mx.set_memory_limit(old)
        mx.get_memory_limit() > 2**20
        mx.set_memory_limit(-1)
        mx.set_memory_limit(None)
        type(mx.set_wired_limit(0)).__name__
        mx.set_wired_limit(-1)
        isinstance(mx.device_info(), dict)
        mx.device_info(mx.Device(mx.cpu, 5))
        mx.device_count(mx.cpu)
        mx.device_count(mx.gpu)
        mx.is_available(mx.cpu)
        mx.is_available(mx.gpu)
        mx.get_array_buffer_size(mx.zeros(4))
    """),
    # evaluation and streams
    *lines("""
        mx.eval(x(f32, 2))
        mx.eval()
        mx.eval([x(f32, 2), {'a': x(f32, 3)}, (x(i32, 2),)])
        mx.eval(3)
        mx.eval(None)
        mx.eval('a')
        mx.eval({'a': 1})
        mx.async_eval(x(f32, 2) + 1)
        mx.async_eval([x(f32, 2)], {'a': x(f32, 3)})
        mx.async_eval()
        mx.async_eval(3)
        mx.synchronize()
        mx.synchronize(mx.default_stream(mx.cpu))
        mx.synchronize('a')
        mx.synchronize(3)
        mx.new_stream(mx.cpu).device == mx.Device(mx.cpu, 0)
        mx.new_stream('a')
        s = mx.new_stream(mx.cpu); mx.add(x(f32, 2), 1, stream=s)
        s = mx.new_stream(mx.cpu); s == mx.default_stream(mx.cpu)
        s = mx.new_stream(mx.cpu); s == s
        s = mx.new_thread_local_stream(mx.cpu); isinstance(s, mx.ThreadLocalStream)
        s = mx.new_thread_local_stream(mx.cpu); mx.add(x(f32, 2), 1, stream=s)
        s = mx.new_thread_unsafe_stream(mx.cpu); mx.add(x(f32, 2), 1, stream=s)
        s = mx.new_thread_unsafe_stream(mx.cpu); isinstance(s, mx.Stream)
        d = mx.default_stream(mx.cpu); s = mx.new_stream(mx.cpu); mx.set_default_stream(s); r = mx.default_stream(mx.cpu) == s; mx.set_default_stream(d); r
        mx.set_default_stream(3)
        mx.set_default_stream(None)
        d = mx.default_device(); mx.set_default_device(mx.cpu); r = mx.default_device() == mx.Device(mx.cpu, 0); mx.set_default_device(d); r
        mx.set_default_device(3)
        isinstance(mx.stream(mx.cpu), mx.StreamContext)
        c = mx.stream(mx.cpu); c.__enter__(); r = mx.default_device() == mx.Device(mx.cpu, 0); c.__exit__(None, None, None); r
        mx.stream(3)
        mx.stream(None)
        callable(mx.clear_streams)
    """),
    # files
    *expand("p = tmp('a.npy'); mx.save(p, x({d}, 2, 3)); mx.load(p)", d=ALL),
    *expand("p = tmp('a.npy'); mx.save(p, {a}); mx.load(p)", a=["x(f32, 4, 6).T", "x(f32, 4, 6)[::2, ::-1]", "x(f32)", "x(f32, 0, 2)", "A(3)"]),
    *expand("p = tmp('a.safetensors'); mx.save_safetensors(p, {'a': x({d}, 2, 3)}); mx.load(p)".replace("{'a'", "{{'a'").replace("3)})", "3)}})").replace("{{", "{").replace("}}", "}"), d=ALL),
    *expand("p = tmp('a.npz'); mx.{n}(p, x(f32, 2), b=x(i32, 3)); sorted(mx.load(p).items())", n="savez savez_compressed"),
    *lines("""
        p = tmp('b'); mx.save(p, x(f32, 2)); mx.load(p + '.npy')
        p = tmp('c'); mx.savez(p, x(f32, 2)); mx.load(p + '.npz')
        p = tmp('d'); mx.save_safetensors(p, {'a': x(f32, 2)}); mx.load(p + '.safetensors')
        p = tmp('e.safetensors'); mx.save_safetensors(p, {'a': x(f32, 2)}, {'k': 'v'}); mx.load(p, return_metadata=True)
        p = tmp('e.safetensors'); mx.save_safetensors(p, {'a': x(f32, 2)}, {'k': 1})
        p = tmp('e.safetensors'); mx.save_safetensors(p, {'a': 1})
        p = tmp('e.safetensors'); mx.save_safetensors(p, x(f32, 2))
        p = tmp('e.safetensors'); mx.save_safetensors(p, {}); mx.load(p)
        p = tmp('g.gguf'); mx.save_gguf(p, {'a': x(f32, 2, 3), 'b': x(f16, 4)}); mx.load(p)
        p = tmp('g.gguf'); mx.save_gguf(p, {'a': x(i32, 3), 'b': x(i8, 2), 'c': x(i16, 2)}); mx.load(p)
        p = tmp('g.gguf'); mx.save_gguf(p, {'a': x(f32, 2)}, {'k': 'v', 'n': A(3), 'l': ['x', 'y']}); sorted(mx.load(p, return_metadata=True)[1].items())
        p = tmp('g.gguf'); mx.save_gguf(p, {'a': x(c64, 2)})
        p = tmp('g.gguf'); mx.save_gguf(p, {'a': x(f64, 2)})
        p = tmp('g.gguf'); mx.save_gguf(p, {'a': x(bf16, 2)})
        mx.load(tmp('missing.npy'))
        mx.load(tmp('missing.npz'))
        mx.load(tmp('missing.safetensors'))
        mx.load(tmp('missing.gguf'))
        mx.load(tmp('missing.txt'))
        mx.load(3)
        mx.load(None)
        mx.save(3, x(f32, 2))
        mx.save(tmp('a.npy'), 3)
        mx.save(tmp('a.npy'), [1, 2])
        mx.save(tmp('missing/a.npy'), x(f32, 2))
        p = tmp('a.npy'); mx.save(p, x(f32, 2)); mx.load(p, format='npz')
        p = tmp('a.npy'); mx.save(p, x(f32, 2)); mx.load(p, format='safetensors')
        p = tmp('a.npy'); mx.save(p, x(f32, 2)); mx.load(p, return_metadata=True)
        p = tmp('f.bin'); mx.save(p + '.npy', x(f32, 2)); mx.load(p + '.npy', format='npy')
        p = tmp('bad.npy'); open(p, 'w').write('nothing'); mx.load(p)
        p = tmp('bad.safetensors'); open(p, 'w').write('nothing'); mx.load(p)
        p = tmp('bad.gguf'); open(p, 'w').write('nothing'); mx.load(p)
        p = tmp('bad.npz'); open(p, 'w').write('nothing'); mx.load(p)
        p = tmp('n.npy'); np.save(p, np.ones((2, 3), order='F')); mx.load(p)
        p = tmp('n.npy'); np.save(p, np.ones(3, '>f4')); mx.load(p)
        p = tmp('n.npy'); np.save(p, np.ones(3, 'S2')); mx.load(p)
        p = tmp('n.npz'); np.savez(p, a=np.arange(3)); mx.load(p)
    """),
    # functions in files
    *lines("""
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: a * 2, x(f32, 3)); mx.import_function(p)(x(f32, 3))
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a, b: (a + b, a * b), x(f32, 3), x(f32, 3, s=1)); mx.import_function(p)(x(f32, 3), x(f32, 3, s=1))
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: a * 2, x(f32, 3)); mx.import_function(p)([x(f32, 3)])
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a, k: a + k, x(f32, 3), k=x(f32, 3)); mx.import_function(p)(x(f32, 3), k=x(f32, 3))
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: a * 2, x(f32, 3)); mx.import_function(p)(x(f32, 4))
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: a * 2, x(f32, 3)); mx.import_function(p)(x(i32, 3))
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: a * 2, x(f32, 3)); mx.import_function(p)()
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: a * 2, x(f32, 3)); mx.import_function(p)(x(f32, 3), x(f32, 3))
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: a.sum(), x(f32, 3), shapeless=True); mx.import_function(p)(x(f32, 5))
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: 3, x(f32, 3))
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: {'r': a}, x(f32, 3))
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: a, 3)
        p = tmp('f.mlxfn'); mx.export_function(p, 3, x(f32, 3))
        p = tmp('f.mlxfn'); mx.export_function(p, lambda a: 1 / 0, x(f32, 3))
        mx.export_function(tmp('missing/f.mlxfn'), lambda a: a, x(f32, 3))
        mx.import_function(tmp('missing.mlxfn'))
        p = tmp('bad.mlxfn'); open(p, 'w').write('nothing'); mx.import_function(p)
        p = tmp('e.mlxfn'); e = mx.exporter(p, lambda a: a + 1); isinstance(e, mx.FunctionExporter)
        p = tmp('e.mlxfn'); e = mx.exporter(p, lambda a: a + 1); e(x(f32, 3)); e(x(f32, 4)); e.close(); f = mx.import_function(p); [f(x(f32, 3)), f(x(f32, 4))]
        p = tmp('e.mlxfn'); e = mx.exporter(p, lambda a: a + 1); e.close(); e(x(f32, 3))
        p = tmp('d.dot'); mx.export_to_dot(p, x(f32, 3) + 1); open(p).read()[:7]
        mx.export_to_dot(tmp('missing/d.dot'), x(f32, 3) + 1)
        mx.export_to_dot(tmp('d.dot'), 3)
    """),
    # transformations
    *lines("""
        mx.compile(lambda a: a + 1)(x(f32, 3))
        mx.compile(lambda a: a + 1)()
        mx.compile(lambda a: a + 1)('a')
        mx.compile(lambda a, b: a + b)(x(f32, 3), 2)
        mx.compile(lambda a: 1 / 0)(x(f32, 3))
        mx.compile(lambda a: a.item())(A(1.0))
        mx.compile(lambda a: float(a))(A(1.0))
        mx.compile(lambda a: a.tolist())(A([1.0]))
        mx.compile(lambda a: a if a > 0 else -a)(A(1.0))
        mx.compile(lambda a: np.array(a))(A([1.0]))
        mx.compile(lambda a: None)(x(f32, 3))
        mx.compile(lambda a: (a, None))(x(f32, 3))
        mx.compile(lambda a: 'text')(x(f32, 3))
        mx.compile(lambda a: {'r': a + 1, 'l': [a, (a,)]})(x(f32, 3))
        mx.compile(lambda *a, **k: a[0] + k['b'])(x(f32, 3), b=x(f32, 3))
        mx.compile(None)
        mx.compile(lambda a: a, inputs=3)(x(f32, 3))
        mx.disable_compile(); r = mx.compile(lambda a: a.item())(A(1.0)); mx.enable_compile(); r
        mx.enable_compile()
        mx.vjp(lambda a: a * 2, [x(f32, 3)], [x(f32, 3)])
        mx.vjp(lambda a: a * 2, [x(f32, 3)], [x(f32, 2)])
        mx.vjp(lambda a: a * 2, [x(f32, 3)], [])
        mx.vjp(lambda a: a * 2, [x(f32, 3)], [x(f32, 3), x(f32, 3)])
        mx.vjp(lambda a: a * 2, x(f32, 3), x(f32, 3))
        mx.vjp(lambda a: 3, [x(f32, 3)], [x(f32, 3)])
        mx.vjp(lambda a: 1 / 0, [x(f32, 3)], [x(f32, 3)])
        mx.vjp(3, [x(f32, 3)], [x(f32, 3)])
        mx.vjp(lambda a: [a, a * 2], [x(f32, 3)], [x(f32, 3), x(f32, 3)])
        mx.jvp(lambda a: a * 2, [x(f32, 3)], [x(f32, 2)])
        mx.jvp(lambda a: a * 2, [x(f32, 3)], [])
        mx.jvp(lambda a: 3, [x(f32, 3)], [x(f32, 3)])
        mx.vmap(lambda a: a * 2)(x(f32, 3))
        mx.vmap(lambda a: a * 2)(A(1.0))
        mx.vmap(lambda a: a * 2, in_axes=1)(x(f32, 3))
        mx.vmap(lambda a: a * 2, in_axes=-1, out_axes=-1)(x(f32, 3, 2))
        mx.vmap(lambda a: a * 2, out_axes=2)(x(f32, 3, 2))
        mx.vmap(lambda a: a * 2, in_axes='a')(x(f32, 3))
        mx.vmap(lambda a: a * 2, in_axes=None)(x(f32, 3))
        mx.vmap(lambda a, b: a + b, in_axes=(0, None))(x(f32, 3), x(f32, 2))
        mx.vmap(lambda a, b: a + b, in_axes=(0,))(x(f32, 3), x(f32, 3))
        mx.vmap(lambda a, b: a + b)(x(f32, 3), x(f32, 2))
        mx.vmap(lambda a: 3)(x(f32, 3))
        mx.vmap(lambda a: a.item())(x(f32, 3))
        mx.vmap(lambda a: 1 / 0)(x(f32, 3))
        mx.vmap(3)
        mx.vmap(lambda a: a)()
        mx.vmap(lambda a: a)(3)
        mx.grad(lambda a: a.sum())('a')
        mx.grad(lambda a: a.sum())()
        mx.grad(lambda a: a.sum(), argnums=1)(x(f32, 3))
        mx.grad(lambda a: a.sum(), argnums=-1)(x(f32, 3))
        mx.grad(lambda a: a.sum(), argnums=[])(x(f32, 3))
        mx.grad(lambda a: a.sum(), argnums=[0, 0])(x(f32, 3))
        mx.grad(lambda a: a.sum(), argnums='a')(x(f32, 3))
        mx.grad(lambda a, b: a.sum(), argnames='b')(x(f32, 3), b=x(f32, 3))
        mx.grad(lambda a, b: a.sum(), argnames='c')(x(f32, 3), b=x(f32, 3))
        mx.grad(lambda a: None)(x(f32, 3))
        mx.grad(lambda a: (a.sum(), 3))(x(f32, 3))
        mx.value_and_grad(lambda a: (a.sum(), 3))(x(f32, 3))
        mx.value_and_grad(lambda a: ({'k': a.sum()}, 3))(x(f32, 3))
        mx.checkpoint(lambda a: a * 2)(x(f32, 3))
        mx.checkpoint(3)
        mx.grad(lambda a: mx.checkpoint(mx.sin)(a).sum())(x(f32, 3))
        mx.custom_function(lambda a: a * 2)(x(f32, 3))
        mx.custom_function(3)
    """),
    # groups and other devices
    *lines("""
        mx.distributed.is_available()
        mx.distributed.is_available('no backend')
        g = mx.distributed.init(); (g.rank(), g.size(), isinstance(g, mx.distributed.Group))
        mx.distributed.init(strict=True).size()
        mx.distributed.init(backend='no backend')
        mx.distributed.init().split(0)
        mx.distributed.all_sum(x(f32, 3))
        mx.distributed.all_max(x(f32, 3))
        mx.distributed.all_min(x(f32, 3))
        mx.distributed.all_gather(x(f32, 3))
        mx.distributed.sum_scatter(x(f32, 4))
        mx.distributed.all_sum(3)
        mx.distributed.all_sum(x(f32, 3), group=3)
        mx.distributed.send(x(f32, 3), 0)
        mx.distributed.send(x(f32, 3), 1)
        mx.distributed.recv((3,), f32, 0)
        mx.distributed.recv_like(x(f32, 3), 0)
        mx.metal.is_available()
        mx.cuda.is_available()
        mx.metal.start_capture(tmp('a.gputrace'))
        mx.metal.stop_capture()
        mx.metal.clear_cache()
        mx.metal.reset_peak_memory()
        type(mx.metal.get_active_memory()).__name__
        type(mx.metal.get_cache_memory()).__name__
        type(mx.metal.get_peak_memory()).__name__
        old = mx.metal.set_cache_limit(2**30); type(old).__name__
        old = mx.metal.set_memory_limit(2**34); type(mx.metal.set_memory_limit(old)).__name__
        mx.metal.set_wired_limit(0)
        mx.metal.device_info()
        mx.fast.precompiled_cuda_kernel(name='k', compiled_source=b'', inputs=[x(f32, 2)], output_shapes=[(2,)], output_dtypes=[f32], scalars=[], grid=(1, 1, 1), threadgroup=(1, 1, 1))
        mx.fast.metal_kernel(name='k', input_names=['a'], output_names=['b'], source='')(inputs=[x(f32, 2)], grid=(1, 1, 1), threadgroup=(1, 1, 1), output_shapes=[(2,)], output_dtypes=[f32])
        mx.fast.cuda_kernel(name='k', input_names=['a'], output_names=['b'], source='')(inputs=[x(f32, 2)], grid=(1, 1, 1), threadgroup=(1, 1, 1), output_shapes=[(2,)], output_dtypes=[f32])
    """),
]  # fmt: skip
