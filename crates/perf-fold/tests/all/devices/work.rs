//! Classification of device work by kernel names found in real recordings and source code.

use perf_core::Region;
use perf_fold::{StateMap, Work, WorkRules};

const COPIES: &[&str] = &[
    "Memcpy DtoH (Device -> Pinned)",
    "CopyDeviceToHost",
    "copy-start.12",
    "copy-done.12",
];

const COMMUNICATION: &[&str] = &[
    "void hybrid_ep::dispatch_kernel<768>(int4*)",
    "void hybrid_ep::combine_kernel<768>(int4*)",
    "void c10d::symmetric_memory::barrier_kernel(unsigned int**)",
    // NCCL, RCCL, MSCCL, MSCCL++, oneCCL, HCCL.
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)",
    "ncclKernel_Broadcast_RING_LL_Sum_int8_t",
    "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
    "rcclGenericKernel<1, false>(ncclDevKernelArgs)",
    "mscclKernel_Sum_half_Simple_false",
    "void mscclpp::executionKernel<__half, mscclpp::LL8Packet>(int, int, __half*, __half*)",
    "void allreduce_LL_1node<__nv_bfloat16>(mscclpp::MemoryChannelDeviceHandle*)",
    "oneccl_allreduce_large_read_write_bf16",
    "hcom_allReduce__570_1",
    // vLLM and SGLang.
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)",
    "void sglang::cross_device_reduce_2stage<__half, 4>(sglang::RankData*, sglang::RankSignals, sglang::Signal*, __half*, int, int)",
    "_ZN4vllm26cross_device_reduce_1stageI6__halfLi2EEEvPNS_8RankDataENS_11RankSignalsEPNS_6SignalEPT_ii",
    "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>>(...)",
    // AITER.
    "void aiter::cross_device_reduce_1stage_naive<__hip_bfloat16, 8>(aiter::RankData*)",
    "void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>(aiter::RankData*, aiter::RankSignals, aiter::Signal*, int, int)",
    "void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8>(aiter::AllReduceFusionParams)",
    "void aiter::allgather_vec<__hip_bfloat16, 8>(aiter::RankData*)",
    // FlashInfer and TensorRT-LLM.
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, false>(flashinfer::trtllm_allreduce_fusion::AllReduceFusionParams<__nv_bfloat16>)",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_twoshot_sync<1, __half, 4, false>()",
    "void flashinfer::trtllm_mnnvl_allreduce::twoshot_allreduce_kernel<8, __nv_bfloat16>(__nv_bfloat16*)",
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, true>(tensorrt_llm::kernels::AllReduceParams)",
    "void tensorrt_llm::kernels::twoShotAllReduceKernel<__nv_bfloat16, 4, false>(tensorrt_llm::kernels::AllReduceParams)",
    "tensorrt_llm::kernels::moeAllToAllKernel(int)",
    "void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<8>(int const*)",
    "moeA2ACombineKernel",
    // DeepEP and MORI.
    "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*)",
    "void deep_ep::internode::notify_dispatch<false, 4>(int const*, int*, int)",
    "void deep_ep::internode_ll::combine<false, 7168, 9>(void*, void*, int*)",
    "_ZN7deep_ep12internode_ll8dispatchILb1ELi7168EEEvPvS1_Pi",
    "dispatch",
    "combine",
    "void combine<false, 7168>(void*)",
    "cached_notify_combine<4>(void**)",
    "EpDispatchIntraNodeKernel_fp8_fnuz",
    "EpCombineIntraNodeKernel_bf16_nop2p",
    // NVSHMEM, PyTorch, Transformer Engine.
    "void nvshmemi_transfer_rma_nbi_kernel<int>()",
    "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 2>(c10::BFloat16*)",
    "void (anonymous namespace)::multimem_all_gather_kernel<8>(char*)",
    "void kuserbuffers_pushrecv(int, int, int, int*)",
    // XLA.
    "all-reduce.17",
    "all-reduce-start.2",
    "all-gather-start",
    "reduce-scatter.3",
    "collective-permute-done.1",
    "all-to-all.4",
    "ragged-all-to-all",
    "async-collective-start",
    "send.5",
    "recv-done.6",
];

const COMPUTE: &[&str] = &[
    "void warpAllReduceSum<float>(float*)",
    "blockAllReduceSum_f32",
    "CopyPageToBlockKernel",
    "void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>(Flash_fwd_params)",
    "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)",
    "softmax_combine",
    "void moe_combine_topk_kernel<float>(float*)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>()",
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long)",
    "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::ReduceAdd>()",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>()",
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float>>, dispatch>()",
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long>()",
    "void cub::DeviceReduceKernel<cub::DeviceReducePolicy<float>::Policy600, float*>()",
    "void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<int*>::PtxReduceByKeyPolicy>()",
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>()",
    "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_SN",
    "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_bias_TNN",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float>()",
    // The second half of a fused collective reads local memory only.
    "void aiter::local_device_load_rmsnorm<__hip_bfloat16, 512, 1>(aiter::RankSignals)",
    "void deep_ep::layout::get_dispatch_layout<256, 4, 8>(long const*, int*)",
    "void moe_align_block_size_kernel<int>(int*)",
    "_fwd_kernel_ep_scatter_2",
    "triton_red_fused__to_copy_add_all_reduce_mean_5",
    "triton_poi_fused_all_gather_into_tensor_copy_1",
    "batch_norm_collect_statistics_kernel",
    "sendable_update",
    "loop_broadcast_fusion",
    "input_reduce_fusion_3",
    "broadcast.7",
    "reduce.12",
    "gather_fusion",
    "combine_kernel_of_states",
    "dispatch_layout",
];

#[test]
fn kernels_that_exchange_data_are_communication() {
    let rules = WorkRules::default();
    let wrong = |names: &[&'static str], work| -> Vec<&str> {
        let is = |name: &&'static str| rules.work(&Region::named(*name)) == work;
        names.iter().copied().filter(|name| !is(name)).collect()
    };
    assert_eq!(wrong(COMMUNICATION, Work::Communication), [""; 0]);
    assert_eq!(wrong(COMPUTE, Work::Compute), [""; 0]);
    assert_eq!(wrong(COPIES, Work::Copy), [""; 0]);
}

#[test]
fn folds_have_the_same_classes() {
    let mut definitions = perf_core::Definitions::default();
    let names = || COMMUNICATION.iter().chain(COMPUTE);
    definitions.regions = names().map(|name| Region::named(*name)).collect();
    let rules = WorkRules::default();
    let Ok(map) = rules.plan(&definitions) else {
        panic!("too many classes");
    };
    for (id, region) in (0..).map(perf_core::RegionId).zip(&definitions.regions) {
        let class = map.of(id).map(|class| map.classes().name(class));
        assert_eq!(class, Some(rules.work(region).name()), "{}", region.name);
    }
}
