/**
 * The unit tests of IREE's `amdgpu` driver (runtime/src/iree/hal/drivers/amdgpu, in August 2026), by file:
 * where what they hold is held here, or why there is nothing to hold. Keys are a file below `src` with words
 * of a test's name, `CTS GROUP.BODY` for bodies of the suite, or a reason, which begins with `none: `.
 */
export const DRIVER_TESTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  access_policy: {
    'hal/amdgpu/several-gpus.test.ts: memory of another GPU is refused where a kernel would use it': `AnySelectsLogicalTopologyAgents PhysicalDeviceAffinitySelectsGpuAndNearestCpu CrossDeviceAffinityDeduplicatesCpuAgents`,
    'none: GPUs have no table of their nearest CPUs': `RejectsInvalidGpuCpuMap`,
  },
  allocator: {
    'CTS AllocatorTest.BaselineBufferCompatibility': `QueryMemoryHeapsReportsHsaLimits DeviceLocalHostVisibleMemoryIsLowPerformance`,
    'CTS AllocationBoundsTest.MoreThanThereIs': `OversizedAllocationIsRejectedByCompatibility`,
    'CTS AllocationBoundsTest.Alignments': `OverAlignedAllocationIsRejected`,
    'CTS DescriptionTest.QueriesAndDescription': `AmdgpuDeviceQueriesExposeRepresentativePhysicalFacts AmdgpuDeviceQueriesAllowCompositeDevices`,
    'CTS ExternalMemoryTest.ImportByAddress': `UnsupportedExternalBufferImportsFailLoud DeviceAllocationImportRejectsUnknownPointer DeviceAllocationImportWrapsHsaAllocation DeviceAllocationExportReportsHsaPointer`,
    'CTS ExternalMemoryTest.MemoryThatIsNotForOthers': `ExternalBufferExportFailsLoud`,
  },
  aql_block_processor: {
    'hal/amdgpu/program/program.test.ts: programs of nothing, of barriers and of contents': `ReturnTerminatorProducesNoPayload`,
    'hal/amdgpu/program/program.test.ts: blocks are filled, split and counted': `BranchTerminatorReportsTargetBlock BuilderProducedSplitBlocksInvokeAsBranchThenReturn`,
    'hal/amdgpu/program/program.test.ts: what is wrong with a program is said, all of it': `UnterminatedBlockFails`,
    'hal/amdgpu/program/program.test.ts: spans take what there is room for, go on there, and become packets': `DirectDispatchPopulatesPacketAndKernarg PacketHeadersOmitInteriorBarriersWithoutExecutionBarrier PacketHeadersHonorExplicitExecutionBarrier PacketHeadersBarrierFirstPayloadForInlineWait`,
    'hal/amdgpu/program/program.test.ts: counts that a program computes reach its dispatches': `IndirectDispatchEmitsPatchThenUnpublishedDispatch RecordedTransfersEmitBlitPackets`,
    'none: barriers have no scopes: every one is for the whole system': `IndirectDispatchSplitsCommandBarrierScopes PacketHeadersPreserveExplicitMemoryBarrierScopes PacketHeadersApplySystemAcquireOnlyToFirstDynamicKernargPacket`,
  },
  aql_command_buffer: {
    'CTS DisposeTest.ProgramThatWasNotFinished': `UnrecordedCommandBufferHasNoProgram UnvalidatedCommandBufferCannotBeginTwice UnvalidatedCommandBufferCannotRerecord`,
    'hal/amdgpu/program/program.test.ts: programs of nothing, of barriers and of contents': `EmptyRecordingHasReturnTerminator BarrierOnlyRecordingHasBarrierAndReturn UpdatePayloadsUseStableRodataOrdinals`,
    'none: barriers have no scopes: every one is for the whole system': `MemoryBarrierRecordingPreservesFenceScopes`,
    'none: there is no profiling session yet': `RetainedProfileMetadataRegistersOperations RetainedDispatchMetadataDoesNotRequireProfile`,
  },
  aql_program_builder: {
    'hal/amdgpu/program/program.test.ts: programs of nothing, of barriers and of contents': `EmptyProgramRecordsReturnBlock CoreRecordSizes ValidatesSplitMetadataOnlyProgram`,
    'hal/amdgpu/program/program.test.ts: blocks are filled, split and counted': `AppendsCommandAndBindingSources PatchesBarrierScopesAtRecordingTime SplitsBlocksWithBranchTerminator`,
    'hal/amdgpu/program/program.test.ts: what is wrong with a program is said, all of it': `MetadataOnlyValidationRejectsPayloadBlocks MetadataOnlyValidationRejectsProfileMarkers MetadataOnlyValidationRejectsTerminatorMetadataMismatch`,
    'hal/core/uri.test.ts: parameters have types and ranges': `BlockPoolRejectsNonPowerOfTwoBlockSize BuilderRejectsOversizedUsableBlockSize`,
    'hal/amdgpu/program/program.test.ts: counts that a program computes reach its dispatches: ${parameters': `RejectsOversizedCommand`,
    'none: barriers have no scopes: every one is for the whole system': `ForcedBarrierKeepsPendingAcquireScope`,
  },
  'device/blit': {
    'hal/amdgpu/library/transfer-kernels.test.ts: a fill goes to the widest kernel that its alignment allows': `FillEmplaceSelectsBlockFillForAlignedTransfer FillEmplaceSelectsScalarX1FillForUnalignedByteTransfer FillEmplaceSelectsUnalignedBlockFillAtVectorThreshold FillEmplaceSelectsUnalignedBlockFillForLargeByteTransfer FillEmplaceSelectsScalarX2FillForHalfwordTransfer FillEmplaceSelectsBlockX4FillForDwordTransfer FillEmplaceUsesDwordFillForSmallAlignedPatterns FillEmplaceSelectsScalarX8FillForInternalQwordTransfer`,
    'hal/amdgpu/library/transfer-kernels.test.ts: a copy goes to the widest kernel that both ends and the length allow': `CopyEmplaceSelectsBlockCopyForAlignedTransfer CopyEmplaceSelectsBlockX8ForQwordAlignedTransfer CopyEmplaceSelectsBlockX4ForDwordAlignedTransfer CopyEmplaceFallsBackToByteCopyForUnalignedTransfer CopyEmplaceSelectsUnalignedBlockCopyAtVectorThreshold CopyEmplaceSelectsUnalignedBlockCopyForLargeByteTransfer`,
    'hal/amdgpu/library/transfer-kernels.test.ts: workgroups are as many as there is work for': `TransferContextInitializeUsesDeviceLaunchMetadata TransferContextInitializeSaturatesLargeComputeUnitCount CopyEmplaceCapsWave32TransferGridToResidentWork CopyEmplaceCapsLargeTransferGridToResidentWork CopyEmplaceUsesTwoDimensionalGridWhenResidentWorkExceedsXDim`,
    'hal/amdgpu/library/transfer-kernels.test.ts: patterns are repeated to 8 bytes, little-endian': `FillEmplaceMasksPatternToDeclaredWidth`,
    'hal/amdgpu/library/transfer-kernels.test.ts: what overlaps, and patterns of other sizes, are refused': `FillEmplaceRejectsUnsupportedPatternLengthWithoutMutation FillEmplaceRejectsMisalignedPatternTransferWithoutMutation`,
    'CTS ZeroLengthTest.Transfers': `FillEmplaceUsesNoopDispatchForZeroLengthTransfer`,
  },
  'device/dispatch': {
    'hal/amdgpu/program/program.test.ts: spans take what there is room for, go on there, and become packets': `MakeHalKernargLayoutWithoutImplicitArgs`,
    'codeobject/hidden-arguments.test.ts: the block of version 5 has the layout of the specification': `MakeHalKernargLayoutWithImplicitArgs EmplaceHalKernargsWritesBindingsConstantsAndImplicitArgs`,
    'CTS ZeroLengthTest.GridsOfNoWorkgroups': `EmplacePacketPreservesZeroWorkgroupCounts`,
    'CTS CustomArgumentsTest.ABlockAsItIs': `EmplaceCustomKernargsCopiesRawBlob`,
  },
  'device/timestamp': {
    'hal/amdgpu/library/device-library.test.ts: times of dispatches are collected from their completion signals': `ProfileDispatchHarvestUsesTimestampRangeTarget EmplacesDispatchHarvestPacketAndKernargs ComputesHarvestKernargLayout`,
    'none: there is no profiling session yet': `AbiRecordLayoutIsFixed MakesRecordHeader`,
  },
  driver_options: {
    'hal/core/uri.test.ts: parameters have types and ranges': `DriverParamsAreRejectedUntilDefined LogicalDeviceParamsAreRejectedUntilDefined RejectsDeviceQueuePlacementBeforeLoadingHsa RejectsInvalidQueuePlacementBeforeLoadingHsa RejectsInvalidCommandBufferModeBeforeLoadingHsa RejectsExclusiveExecutionBeforeLoadingHsa RejectsNegativeActiveWaitBeforeLoadingHsa RejectsActiveWaitBeforeLoadingHsa`,
    'none: who opens a registry gives it its GPUs: no library is looked for': `RejectsMissingSearchPathStorageBeforeLoadingHsa RejectsMissingSearchPathDataBeforeLoadingHsa`,
    'none: command buffers are AQL: PM4 is for waits alone': `LogicalDeviceDefaultsUseHostCopyPm4Publication AcceptsCommandBufferModesBeforeLoadingHsa RejectsInvalidPm4CommandBufferPublicationBeforeLoadingHsa`,
  },
  executable: {
    'codeobject/container.test.ts: a code object is its own only image': `InfersRawHsacoTargetIdFromElfFlags`,
    'none: IREE’s flatbuffers are not read': `InfersWrappedFlatbufferTargetIdFromEmbeddedElf`,
  },
  host_queue_command_buffer: {
    'hal/amdgpu/program/program.test.ts: spans take what there is room for, go on there, and become packets': `DispatchSummariesRetainPacketOrdinals PacketControlBarriersFirstPayloadPacketForInlineWait`,
    'hal/amdgpu/program/program.test.ts: arguments that stay are published, others are formed from what is known': `PrepublishedKernargsUseRecordedDeviceFineStorage DirectDispatchUsesPrepublishedKernargs MixedDynamicDispatchUsesPatchedKernargTemplate DynamicDispatchUsesBindingTableSlots`,
    'hal/amdgpu/several-gpus.test.ts: memory of another GPU is refused where a kernel would use it': `CommandBufferRejectsCrossPhysicalDeviceQueue`,
    'CTS RingTest.ProgramsThatAreLongerThanTheRing': `SingleBlockCommandBufferParksAndResumesUnderNotificationPressure MetadataOnlyCommandBufferParksAndResumesUnderNotificationPressure LargeCommandBufferParksAndResumesUnderNotificationPressure`,
    'CTS AsyncTransientBufferTest.IndirectRefResolvedAfterAllocaCommit': `DeferredTransientBindingSurvivesQueuedDealloca`,
    'CTS AsyncTransientBufferTest.StaticRefRecordedBeforeAllocaCommitExecutes': `OneShotStaticTransientBindingRecordsBeforeAllocaCommit`,
    'none: arguments lie in one kind of memory': `KernargRingUsesRecordedCpuVisibleCoarseCapability`,
    'none: command buffers are AQL: PM4 is for waits alone': `Pm4DispatchUsesResidentPrepublishedCommandBuffer AutoCommandBufferModeUsesAqlWithoutUploadRing AutoCommandBufferModeUsesPm4WhenFullySupported AutoCommandBufferModeUsesPm4WhileQueueProfiling AutoCommandBufferModeUsesPm4WhileDispatchProfiling AutoCommandBufferModeFallsBackToAqlForUnsupportedRequest ExplicitPm4CommandBufferModeRejectsUnsupportedCategories Pm4MixedDynamicDispatchUsesGpuFixup Pm4DynamicDispatchUsesBindingTableSlots`,
    'none: there is no profiling session yet': `ExplicitHardwareCounterSelectionEmitsMetadataWhenAvailable MultipleHardwareCounterSelectionEmitsLayoutWhenAvailable Pm4CommandBufferExecuteEmitsDispatchProfileEvents Pm4CommandBufferExecuteEmitsQueueDeviceProfileEnvelope ProfilingMetadataCoversMultiplePhysicalDevices SinklessProfilingBeginFails NestedProfilingBeginFails ProfilingBeginSinkBeginFailureAllowsRetry ProfilingBeginMetadataWriteFailureEndsSessionAndAllowsRetry ProfilingFlushWriteFailurePreservesQueueEventsForRetry ProfiledQueueEventsReportDroppedRecordsWhenRingFull ProfiledMemoryEventsReportDroppedRecordsWhenRingFull ProfilingFlushMetadataWriteFailurePreservesCursorForRetry ProfilingEndWriteFailureReportsSessionStatusAndAllowsRetry ProfilingEndSessionFailureClearsStateAndAllowsRetry CommandBufferDispatchesEmitProfileEvents CommandBufferExecuteEmitsQueueDeviceSpansAndRelationships CommandBufferDispatchesEmitHardwareCounterSamples CounterRangeSamplesUseProfileQueueWhenAvailable ProfilingFlushCounterSampleWriteFailurePreservesSamplesForRetry CommandBufferDispatchProfileFilterSelectsCommandIndex DispatchProfileFilterCopiesExecutableExportPattern ProfiledDispatchReservationFailsWhenRingFull ProfiledQueueDeviceReservationFailsWhenRingFull ProfiledCommandBufferDispatchSignalsSurviveAqlSlotReuse`,
  },
  host_queue_pending: {
    'CTS QueueAllocaTest.DeallocaReleasesMemory': `DefaultPoolServesHostLocalMappedAlloca DefaultPoolServesOptimalHostLocalMappedAlloca`,
    'CTS QueueHostCallTest.CallbackReturnsErrorAfterWait': `DeferredHostActionFailureRunsSynchronousCallbackOnce`,
    'CTS AbortTest.BeforeItsWaits': `CancelPendingFillFailsSignalSemaphore`,
    'CTS RingTest.TransfersPassWhatIsParked': `CapacityParkedHostActionRetriesAfterPostDrain`,
    'CTS QueueAllocaTest.ExplicitFixedBlockPoolRequiresWaitFrontierFlag': `QueueAllocaRejectsWaitableReservationWithoutFlag`,
    'CTS QueueAllocaTest.ExplicitTLSFPoolCrossQueueStaleBlockGrows': `QueueAllocaTlsfGrowthRetriesThroughColdPath`,
    'hal/conformance/pools.test.ts: what waits for memory is cancelled: by its signal, by its pool, by its device': `CancelPendingAllocaFrontierWait CancelPendingAllocaPoolNotificationWait`,
  },
  host_queue_staging: {
    'CTS FileBoundsTest.SeveralPieces': `OneSlotLargeReadCompletesThroughSlotWaiter OneSlotLargeWriteCompletesThroughSlotWaiter CapacityParkedStagedWriteRetriesAfterPostDrain`,
    'CTS FileBoundsTest.ReadPastTheEnd': `ShortReadFailsTerminalSignal`,
    'none: files are what programs give': `FileIoDisabled`,
  },
  host_queue_submission: {
    'hal/amdgpu/program/program.test.ts: blocks are filled, split and counted': `DispatchPacketAccountingCombinations`,
    'none: command buffers are AQL: PM4 is for waits alone': `WritesPersistentPm4IbPacketBody Pm4IbPacketAccountingCombinations`,
    'none: there is no profiling session yet': `LightweightStatisticsAvoidDeviceTimestamps`,
  },
  physical_device_capabilities: {
    'hal/amdgpu/several-gpus.test.ts: paths name GPUs in their order; the description has the links': `MemoryPoolAccessMapsToSafeTopologyModes NeverAllowedPhysicalTopologyEdgeIsHostStaged`,
    'none: emulated GPUs have no PCIe and no xGMI between them': `SelectsXgmiPhysicalTopologyEdge SelectsWorstMultiHopPhysicalTopologyEdge SelectsPciePhysicalTopologyEdgeWithoutSystemAtomics GrantablePhysicalTopologyEdgeRequiresGrant InvalidPhysicalTopologyEdgeInputsFailLoud CpuAccessInputsAreRequiredWhenNeeded TooManyCpuAgentsFails SvmDefaultAccessDoesNotImplyPeerFlags LargeBarDoesNotImplyPageableSvmDefaultAccess`,
    'none: arguments lie in one kind of memory': `SelectsAvailableCoarseMemory EmptyInputsDisableCoarseMemory PublicationGatesDisableCoarseMemory GfxIpGatesHdpPublication UnsupportedGfxIpDisablesCoarseMemory CpuAccessGatesCoarseMemory SelectsPrepublishedKernargStorage`,
    'hal/amdgpu/order/wait-strategy.test.ts: queues wait for each other by ${strategy}, in rings of any size': `SelectsCdnaBarrierValueCapabilities SelectsValidatedGfx942Capabilities SelectsValidatedGfx1100Capabilities LeavesUnvalidatedGfxFamiliesOnBaseAqlPath SelectsWaitBarrierStrategy`,
    'none: PM4 is for waits alone': `KeepsUnvalidatedAqlprofilePhysicalFamiliesOnBaseAqlPm4IbPath SelectsExperimentalPm4CommandBufferCapabilities SelectsPm4TimestampStrategy`,
  },
  profile_events: {
    'none: there is no profiling session yet': `MemoryEventsPreserveRecordsAndReportDrops MemoryEventsSkipMismatchedSession QueueEventsReportRetainedAndMetadataOnlyDrops`,
  },
  profile_metadata: {
    'none: there is no profiling session yet': `HashCodeObjectGolden RegisterExecutableRecordsOnlyIdentity RegisterExecutableComputesStablePipelineHash RegisterExecutableArtifactsAttachToIdentity RegisterExecutableArtifactsRequiresIdentity`,
  },
  queue_affinity: {
    'hal/amdgpu/several-gpus.test.ts: paths name GPUs in their order; the description has the links': `ResolveOrdinalMapsPhysicalDeviceAndQueue ResolveOrdinalRejectsOutOfRangeDevice PhysicalDeviceAffinityBuildsQueueRange`,
    'none: queues are objects: there are no masks of them': `NormalizeAnyExpandsToSupportedAffinity NormalizeIntersectsExplicitAffinity NormalizeRejectsEmptyIntersection ResolveSelectsFirstQueue TryResolveReturnsFalseForInvalidAffinity SelectPhysicalDevicesForAnySelectsAllDevices SelectPhysicalDevicesForExplicitDeviceMask SelectPhysicalDevicesForCrossDeviceMask SelectPhysicalDevicesIntersectsUnsupportedBits SelectPhysicalDevicesRejectsEmptyIntersection SelectPhysicalDevicesRejectsUnmappedAffinity SelectPhysicalDevicesRejectsUnrepresentableMask NormalizeAnyForPhysicalDeviceSelectsFirstDevice NormalizeExplicitForPhysicalDeviceKeepsSelectedBits NormalizeForPhysicalDeviceRejectsCrossDeviceMask DeviceLocalAffinity`,
  },
  slab_provider: {
    'hal/memory/pools/pool.test.ts: nothing overlaps, everything comes back': `DefaultPhysicalDevicePoolMaterializesDeviceLocalBuffer`,
    'CTS QueueAllocaTest.ExplicitTLSFPoolCrossQueueStaleBlockGrows': `DefaultPhysicalDevicePoolGrowsAdditionalSlabs`,
    'none: what a pool cannot hold is asked of the device by who asks': `DefaultQueueAllocaRoutesOversizedRequests`,
  },
  system: { 'hal/amdgpu/several-gpus.test.ts: all GPUs and all memory are given back': `Lifetime` },
  'util/block_pool': {
    'hal/memory/pools/pool.test.ts: nothing overlaps, everything comes back': `LifetimeEmpty LifetimeInitial AutoBlocksPerAllocation ReleaseList Trimming`,
    'hal/memory/pools/pool.test.ts: what does not go together is refused by name': `BlockSizeCheck AllocatorPageSizeCheck`,
    'hal/memory/pools/range-allocator.test.ts: fixed blocks against the model': `AllocatorLifetimeEmpty AllocatorAllocate AllocatorAllocateFullBlocks AllocatorAllocateSpillBlock AllocatorAllocateFragmented AllocatorAllocateEntireBlock`,
    'none: JavaScript’s heap is the arena': `ArenaLifetimeEmpty ArenaAllocation ArenaReset ArenaReleaseBlocks`,
  },
  'util/code_object_target': {
    'codeobject/elf-flags.test.ts: e_flags of version 4 and higher have two bits a feature': `ParsesV5FeatureStates ParsesV5AnyAndUnsupportedFeatures`,
    'codeobject/elf-flags.test.ts: e_flags of version 3 have one bit a feature': `ParsesV3SupportedAbsentFeaturesAsOff`,
    'codeobject/elf-flags.test.ts: a generic processor has its version in the top byte of version 6': `ParsesV6GenericVersion RejectsV6GenericWithoutVersion`,
    'codeobject/code-object.test.ts: mutated code objects give WavewrightError or a result, nothing else': `RejectsUnsupportedMachineValue RejectsNonAmdgpuElfMachine`,
  },
  'util/device_clock': {
    'CTS ClockTest.GoesOnAsTheHostsDoes': `ValidateCounters`,
    'none: every device has a clock': `UnavailableSourceSampleFailsExplicitly`,
  },
  'util/device_library': { 'hal/amdgpu/library/device-library.test.ts: the module holds the code objects': `Load` },
  'util/device_library_target': {
    'hal/amdgpu/library/device-library.test.ts: every processor that is emulated has a library': `PreservesFeatureBearingCandidatesBeforeFallbacks MatchesOnlyWholeFileArchSegments`,
    'none: gfx1250 is not emulated': `IncludesGfx12_5GenericFallback`,
  },
  'util/hsaco_metadata': {
    'hal/amdgpu/code.test.ts: bindings and constants are what the metadata lists': `ParsesValidMetadata PopulatesDefaultExportParameters DefaultExportParametersSkipHiddenArguments RejectsNarrowByValueDefaultExportParameter`,
    'hal/amdgpu/code.test.ts: a kernel with arguments of other kinds is listed, and cannot be dispatched': `AllowsUnknownValueKindAsOpaqueMetadata`,
    'codeobject/code-object.test.ts: kernels have descriptor, metadata and entry address': `FindsKernelBySymbol`,
    'codeobject/code-object.test.ts: a kernel without metadata is one all the same': `RejectsMissingMetadataNote`,
    'codeobject/metadata-reader.test.ts: cut and mutated bytes are BAD_INPUT or still a document': `RejectsOutOfRangeArgument RejectsMalformedMessagePackMetadata RejectsDuplicateArgumentField`,
    'hal/amdgpu/code.test.ts: no beginning of a code object is one': `TruncatedElfPrefixesNeverSucceed`,
  },
  'util/kernarg_ring': {
    'hal/amdgpu/rings.test.ts: blocks of a ring lie in a row': `AllocatesContiguousBlocksAndReclaims`,
    'hal/core/uri.test.ts: parameters have types and ranges': `RejectsInvalidBlockCounts`,
    'none: arguments lie in one kind of memory': `PublicationModeNoneSkipsRegisterWrite PublicationModeHdpFlushWritesRegister`,
  },
  'util/target_id': {
    'codeobject/target-id.test.ts: formatting and parsing are inverse, with and without triple': `ParsesExactProcessor ParsesExactProcessorWithHexStepping ParsesGenericProcessor ParsesHsaIsaNameWithFeatureSuffixes`,
    'codeobject/target-id.test.ts: the canonical order of features is alphabetical': `FormatsIntoQueriedBufferLength`,
    'codeobject/target-id.test.ts: bad target ids say what is wrong': `RejectsUnsupportedSyntax`,
    'codeobject/processors.test.ts: a generic processor exists, is one, and has the family': `ParsesKnownFeatureSupport LooksUpCodeObjectTarget`,
    'codeobject/target-id.test.ts: code always runs on an agent of its own target': `ChecksExactCompatibility`,
    'codeobject/target-id.test.ts: a generic processor runs on its members from the version that includes them': `ChecksGenericCompatibilityWithMappedFamily`,
    'codeobject/target-id.test.ts: a chosen feature must equal the agent, any matches': `ChecksFeatureCompatibility`,
    'codeobject/target-id.test.ts: everything that does not fit is named': `FormatsCompatibilityReasons`,
  },
  'util/topology': {
    'hal/core/uri.test.ts: a path names devices in its order, each once': `InitializeFromPathEmpty InitializeFromPathOrdinal InitializeFromPathTwoOrdinals VerifyRejectsDuplicateAllAgents`,
    'hal/amdgpu/several-gpus.test.ts: paths name GPUs in their order; the description has the links': `InitializeFromPathTwoDefaultGpuUuidsVerifies InitializeWithDefaults VerifyRejectsQueueSpaceOverflow VerifyAcceptsStructurallyValidTopology`,
    'none: queues are objects: there are no masks of them': `InitializeFromGPUAgentMask0 InitializeFromGPUAgentMask1 InitializeFromGPUAgentMaskTwoDevices`,
    'none: a topology is made of the GPUs that were opened, and has no other parts': `VerifyRejectsStorageCountBeyondCapacity VerifyRejectsAllAgentCountMismatch VerifyRejectsGpuCpuMapOutOfRange VerifyRejectsGpuMissingFromAllAgents Empty InsertCpuAgentAllowsLastSlot InsertGpuAgentAllowsLastSlot`,
  },
};

/** Files of which nothing is mirrored. */
export const OTHER_DRIVER_TESTS: Readonly<Record<string, string>> = {
  aql_block_processor_timestamp: 'there is no profiling session yet',
  semaphore: 'who signals last is told by src/hal/amdgpu/order, whose tests are there',
  'util/aql_emitter': 'packets are of the HSA runtime, whose tests are in src/hsa/queues',
  'util/epoch_signal_table': 'an axis knows its queue: there is no table',
  'util/kfd': 'the clock is the HSA runtime’s',
  'util/libaqlprofile': 'there are no counters of the hardware',
  'util/libhsa': 'the HSA runtime is part of the package; that of a real GPU has its tests in test/oracle',
  'util/notification_ring': 'semaphores are told by the scheduler; the ring is held by src/hal/amdgpu/rings.test.ts',
  'util/pm4_barrier': 'command buffers are AQL: PM4 is for waits alone',
  'util/pm4_dispatch': 'command buffers are AQL: PM4 is for waits alone',
  'util/pm4_dispatch_live': 'command buffers are AQL: PM4 is for waits alone',
  'util/pm4_emitter': 'command buffers are AQL: PM4 is for waits alone',
  'util/pm4_program': 'command buffers are AQL: PM4 is for waits alone',
  'util/queue_upload_ring': 'contents of updates travel in the ring of arguments',
  'util/signal_pool': 'signals are the HSA runtime’s',
  'util/vmem': 'memory is not mapped twice',
};
