//! [`write()`]: generated recordings of any size in the JSON of PyTorch's Kineto, and the counts
//! that they contain as [`Made`].

use std::io::{self, Write};

/// Names with the length of real kernel names.
const KERNELS: [&str; 6] = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    "ampere_sgemm_128x64_nn",
    "void at::native::(anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>(float*, float const*, int, int, int, bool const*, int, bool)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>(cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4::Params)",
    "Memset (Device)",
];

const OPERATORS: [&str; 8] = [
    "aten::linear",
    "aten::addmm",
    "aten::softmax",
    "aten::copy_",
    "autograd::engine::evaluate_function: AddmmBackward0",
    "aten::mul",
    "c10d::allreduce_",
    "aten::zero_",
];

/// Contents of a generated file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Size in bytes.
    pub bytes: u64,
    /// Number of events.
    pub events: u64,
    /// Number of pieces of device work.
    pub work: u64,
    /// Busy time of the device in nanoseconds.
    pub busy: u64,
}

/// Writes about `size` bytes of a recording of rank `rank`: operators, Python calls, launches, and
/// kernels on two streams that sometimes overlap.
///
/// # Errors
/// Returns the errors of `to`.
pub fn write(to: &mut dyn Write, rank: u32, size: u64) -> io::Result<Made> {
    let mut made = Made::default();
    let mut text = Vec::with_capacity(1 << 20);
    write!(
        text,
        "{{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {{\"id\": {rank}, \"name\": \"NVIDIA A100-SXM4-80GB\"}}\n  ],\n  \
         \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {rank}, \"world_size\": 8}},\n  \
         \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1751410836000000000,\n  \"traceEvents\": ["
    )?;
    let (mut busy_until, mut step, mut comma) = (0_u64, 0_u64, "");
    while made.bytes + (text.len() as u64) < size {
        let (host, kernel) = (OPERATORS[(step % 8) as usize], KERNELS[(step % 6) as usize]);
        // In nanoseconds; a step takes 40 us.
        let start = 1_365_627_862_757_064_000 / 1000 + step * 40_000 + u64::from(rank) * 700;
        let mix = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let at = |offset: u64| {
            let at = start + offset;
            format!("{}.{:03}", at / 1000, at % 1000)
        };
        let pid = 6583 + rank;
        write!(
            text,
            "{comma}\n  {{\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"torch/nn/modules/module.py(1532): _call_impl\", \"pid\": {pid}, \"tid\": {pid},\n    \"ts\": {}, \"dur\": 39.900,\n    \"args\": {{\n      \"Python parent id\": 17, \"Python id\": {step}, \"Ev Idx\": {step}\n    }}\n  }}",
            at(0)
        )?;
        write!(
            text,
            ",\n  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{host}\", \"pid\": {pid}, \"tid\": {pid},\n    \"ts\": {}, \"dur\": 30.125,\n    \"args\": {{\n      \"External id\": {step}, \"Record function id\": 0, \"Concrete Inputs\": [\"\", \"0\", \"1\"], \"Input type\": [\"float\", \"Scalar\", \"Scalar\"], \"Input Strides\": [[4096, 1], [], []], \"Input Dims\": [[512, 4096], [], []], \"Ev Idx\": {step}\n    }}\n  }}",
            at(1_200)
        )?;
        made.events += 2;
        comma = ",";
        if step % 3 < 2 {
            let (stream, length) = (7 + 13 * (step % 2), 5_000 + mix % 70_000);
            let category = if kernel.starts_with("Mem") {
                "gpu_memset"
            } else {
                "kernel"
            };
            let begin = 25_000 + mix % 10_000;
            write!(
                text,
                ",\n  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": {pid}, \"tid\": {pid},\n    \"ts\": {}, \"dur\": 5.250,\n    \"args\": {{\n      \"External id\": {step}, \"cbid\": 211, \"correlation\": {step}\n    }}\n  }}",
                at(12_000)
            )?;
            write!(
                text,
                ",\n  {{\n    \"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{kernel}\", \"pid\": {rank}, \"tid\": {stream},\n    \"ts\": {}, \"dur\": {}.{:03},\n    \"args\": {{\n      \"External id\": {step}, \"queued\": 0, \"device\": {rank}, \"context\": 1, \"stream\": {stream}, \"correlation\": {step}, \"registers per thread\": 122, \"shared memory\": 12544, \"blocks per SM\": 5.925926, \"warps per SM\": 23.703703, \"grid\": [8, 16, 5], \"block\": [128, 1, 1], \"est. achieved occupancy %\": 25\n    }}\n  }}",
                at(begin),
                length / 1000,
                length % 1000
            )?;
            write!(
                text,
                ",\n  {{\n    \"ph\": \"s\", \"id\": {step}, \"pid\": {pid}, \"tid\": {pid}, \"ts\": {}, \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }},\n  {{\n    \"ph\": \"f\", \"id\": {step}, \"pid\": {rank}, \"tid\": {stream}, \"ts\": {}, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }}",
                at(12_000),
                at(begin)
            )?;
            let end = start + begin + length;
            made.busy += end.saturating_sub(busy_until.max(start + begin));
            busy_until = busy_until.max(end);
            made.work += 1;
            made.events += 4;
        }
        step += 1;
        if text.len() >= 1 << 20 {
            to.write_all(&text)?;
            made.bytes += text.len() as u64;
            text.clear();
        }
    }
    text.extend_from_slice(b"\n  ],\n  \"traceName\": \"trace.json\"\n}\n");
    to.write_all(&text)?;
    made.bytes += text.len() as u64;
    Ok(made)
}
