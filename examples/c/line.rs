//! Train a line by the C interface, from Rust without other crates:
//!
//!     rustc -L path/to/lib -l mlxc line.rs && ./line
//!
//! The loss is the mean of (w x + b - y)^2; `loss` below is a Rust function that the library calls.

use std::ffi::c_void;

/// A struct of the interface: one pointer, passed by value. Each kind is a type of its own.
macro_rules! handles {
    ($($name:ident)*) => {$(
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct $name(*mut c_void);
    )*};
}
handles!(RawArray RawList RawStream RawClosure RawGradient);

type Function = extern "C" fn(*mut RawList, RawList) -> i32;

extern "C" {
    fn mlx_default_cpu_stream_new() -> RawStream;
    fn mlx_array_new_float(value: f32) -> RawArray;
    fn mlx_array_free(a: RawArray) -> i32;
    fn mlx_array_item_float32(res: *mut f32, a: RawArray) -> i32;
    fn mlx_arange(res: *mut RawArray, start: f64, stop: f64, step: f64, dtype: i32, s: RawStream) -> i32;
    fn mlx_add(res: *mut RawArray, a: RawArray, b: RawArray, s: RawStream) -> i32;
    fn mlx_subtract(res: *mut RawArray, a: RawArray, b: RawArray, s: RawStream) -> i32;
    fn mlx_multiply(res: *mut RawArray, a: RawArray, b: RawArray, s: RawStream) -> i32;
    fn mlx_square(res: *mut RawArray, a: RawArray, s: RawStream) -> i32;
    fn mlx_mean(res: *mut RawArray, a: RawArray, keepdims: bool, s: RawStream) -> i32;
    fn mlx_vector_array_new_data(data: *const RawArray, size: usize) -> RawList;
    fn mlx_vector_array_set_value(list: *mut RawList, a: RawArray) -> i32;
    fn mlx_vector_array_get(res: *mut RawArray, list: RawList, index: usize) -> i32;
    fn mlx_vector_array_free(list: RawList) -> i32;
    fn mlx_closure_new_func(f: Function) -> RawClosure;
    fn mlx_closure_free(f: RawClosure) -> i32;
    fn mlx_value_and_grad(res: *mut RawGradient, f: RawClosure, argnums: *const i32, n: usize) -> i32;
    fn mlx_closure_value_and_grad_apply(values: *mut RawList, gradients: *mut RawList, g: RawGradient, inputs: RawList) -> i32;
    fn mlx_closure_value_and_grad_free(g: RawGradient) -> i32;
    fn mlx_eval(outputs: RawList) -> i32;
}

/// An array that is freed when it goes.
struct Array(RawArray);

impl Drop for Array {
    fn drop(&mut self) {
        unsafe { mlx_array_free(self.0) };
    }
}

impl Array {
    fn number(value: f32) -> Array {
        Array(unsafe { mlx_array_new_float(value) })
    }
    /// What `call` writes to its first argument.
    fn of(call: impl FnOnce(*mut RawArray) -> i32) -> Array {
        let mut raw = RawArray(std::ptr::null_mut());
        assert_eq!(call(&mut raw), 0);
        Array(raw)
    }
    fn item(&self) -> f32 {
        let mut value = 0.0;
        assert_eq!(unsafe { mlx_array_item_float32(&mut value, self.0) }, 0);
        value
    }
}

type Binary = unsafe extern "C" fn(*mut RawArray, RawArray, RawArray, RawStream) -> i32;

fn stream() -> RawStream {
    // One handle for the program's lifetime.
    thread_local!(static STREAM: RawStream = unsafe { mlx_default_cpu_stream_new() });
    STREAM.with(|s| *s)
}
fn binary(f: Binary, a: &Array, b: &Array) -> Array {
    Array::of(|res| unsafe { f(res, a.0, b.0, stream()) })
}
fn points() -> Array {
    const FLOAT32: i32 = 10;
    Array::of(|res| unsafe { mlx_arange(res, -1.0, 1.0, 0.125, FLOAT32, stream()) })
}
fn line(w: &Array, b: &Array) -> Array {
    binary(mlx_add, &binary(mlx_multiply, &points(), w), b)
}

/// The mean of the squared distances from 3 x + 1, for [w, b].
extern "C" fn loss(result: *mut RawList, inputs: RawList) -> i32 {
    let w = Array::of(|res| unsafe { mlx_vector_array_get(res, inputs, 0) });
    let b = Array::of(|res| unsafe { mlx_vector_array_get(res, inputs, 1) });
    let error = binary(mlx_subtract, &line(&w, &b), &line(&Array::number(3.0), &Array::number(1.0)));
    let squares = Array::of(|res| unsafe { mlx_square(res, error.0, stream()) });
    let mean = Array::of(|res| unsafe { mlx_mean(res, squares.0, false, stream()) });
    unsafe { mlx_vector_array_set_value(result, mean.0) }
}

fn list(arrays: &[Array]) -> RawList {
    let raw: Vec<RawArray> = arrays.iter().map(|a| a.0).collect();
    unsafe { mlx_vector_array_new_data(raw.as_ptr(), raw.len()) }
}

fn main() {
    let closure = unsafe { mlx_closure_new_func(loss) };
    let mut gradient = RawGradient(std::ptr::null_mut());
    let numbers = [0, 1];
    assert_eq!(unsafe { mlx_value_and_grad(&mut gradient, closure, numbers.as_ptr(), 2) }, 0);
    let rate = Array::number(0.1);
    let mut weights = [Array::number(0.0), Array::number(0.0)];
    for _ in 0..200 {
        let inputs = list(&weights);
        let (mut values, mut slopes) = (RawList(std::ptr::null_mut()), RawList(std::ptr::null_mut()));
        unsafe {
            assert_eq!(mlx_closure_value_and_grad_apply(&mut values, &mut slopes, gradient, inputs), 0);
        }
        for k in 0..2 {
            let slope = Array::of(|res| unsafe { mlx_vector_array_get(res, slopes, k) });
            weights[k] = binary(mlx_subtract, &weights[k], &binary(mlx_multiply, &slope, &rate));
        }
        let updated = list(&weights);
        unsafe {
            assert_eq!(mlx_eval(updated), 0);
            for done in [inputs, values, slopes, updated] {
                mlx_vector_array_free(done);
            }
        }
    }
    let (w, b) = (weights[0].item(), weights[1].item());
    println!("w {w:.2}, b {b:.2}");
    unsafe {
        mlx_closure_value_and_grad_free(gradient);
        mlx_closure_free(closure);
    }
    assert!((w - 3.0).abs() < 0.05 && (b - 1.0).abs() < 0.05);
}
