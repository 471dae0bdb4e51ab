import type {GroupTable} from './group-table.js';

const v1 = {
  AllocatedDeviceStatus:
    '1 driver string!; 2 pool string!; 3 device string!; 4 conditions []Condition; 5 data *raw; 6 networkData *NetworkDeviceData; 7 shareID *string',
  AllocationResult: '1 devices DeviceAllocationResult; 3 nodeSelector *core/v1.NodeSelector; 5 allocationTimestamp *time',
  CELDeviceSelector: '1 expression string!',
  CapacityRequestPolicy: '1 default *quantity; 3 validValues []quantity; 4 validRange *CapacityRequestPolicyRange',
  CapacityRequestPolicyRange: '1 min *quantity; 2 max *quantity; 3 step *quantity',
  CapacityRequirements: '1 requests {quantity}',
  Counter: '1 value quantity',
  CounterSet: '1 name string!; 2 counters {Counter}!',
  Device:
    '1 name string!; 2 attributes {DeviceAttribute}; 3 capacity {DeviceCapacity}; 4 consumesCounters []DeviceCounterConsumption; 5 nodeName *string; 6 nodeSelector *core/v1.NodeSelector; 7 allNodes *bool; 8 taints []DeviceTaint; 9 bindsToNode *bool; 10 bindingConditions []string; 11 bindingFailureConditions []string; 12 allowMultipleAllocations *bool',
  DeviceAllocationConfiguration: '1 source string!; 2 requests []string; 3 +DeviceConfiguration',
  DeviceAllocationResult: '1 results []DeviceRequestAllocationResult; 2 config []DeviceAllocationConfiguration',
  DeviceAttribute: '2 int *int64; 3 bool *bool; 4 string *string; 5 version *string',
  DeviceCapacity: '1 value quantity; 2 requestPolicy *CapacityRequestPolicy',
  DeviceClaim: '1 requests []DeviceRequest; 2 constraints []DeviceConstraint; 3 config []DeviceClaimConfiguration',
  DeviceClaimConfiguration: '1 requests []string; 2 +DeviceConfiguration',
  DeviceClass: '@1 metadata ObjectMeta; 2 spec DeviceClassSpec',
  DeviceClassConfiguration: '1 +DeviceConfiguration',
  DeviceClassList: '@1 metadata ListMeta; 2 items []DeviceClass!',
  DeviceClassSpec: '1 selectors []DeviceSelector; 2 config []DeviceClassConfiguration; 4 extendedResourceName *string',
  DeviceConfiguration: '1 opaque *OpaqueDeviceConfiguration',
  DeviceConstraint: '1 requests []string; 2 matchAttribute *string; 3 distinctAttribute *string',
  DeviceCounterConsumption: '1 counterSet string!; 2 counters {Counter}!',
  DeviceRequest: '1 name string!; 2 exactly *ExactDeviceRequest; 3 firstAvailable []DeviceSubRequest',
  DeviceRequestAllocationResult:
    '1 request string!; 2 driver string!; 3 pool string!; 4 device string!; 5 adminAccess *bool; 6 tolerations []DeviceToleration; 7 bindingConditions []string; 8 bindingFailureConditions []string; 9 shareID *string; 10 consumedCapacity {quantity}',
  DeviceSelector: '1 cel *CELDeviceSelector',
  DeviceSubRequest:
    '1 name string!; 2 deviceClassName string!; 3 selectors []DeviceSelector; 4 allocationMode string; 5 count int64; 6 tolerations []DeviceToleration; 7 capacity *CapacityRequirements',
  DeviceTaint: '1 key string!; 2 value string; 3 effect string!; 4 timeAdded *time',
  DeviceToleration: '1 key string; 2 operator string; 3 value string; 4 effect string; 5 tolerationSeconds *int64',
  ExactDeviceRequest:
    '1 deviceClassName string!; 2 selectors []DeviceSelector; 3 allocationMode string; 4 count int64; 5 adminAccess *bool; 6 tolerations []DeviceToleration; 7 capacity *CapacityRequirements',
  NetworkDeviceData: '1 interfaceName string; 2 ips []string; 3 hardwareAddress string',
  OpaqueDeviceConfiguration: '1 driver string!; 2 parameters raw',
  ResourceClaim: '@1 metadata ObjectMeta; 2 spec ResourceClaimSpec; 3 status ResourceClaimStatus',
  ResourceClaimConsumerReference: '1 apiGroup string; 3 resource string!; 4 name string!; 5 uid string!',
  ResourceClaimList: '@1 metadata ListMeta; 2 items []ResourceClaim!',
  ResourceClaimSpec: '1 devices DeviceClaim',
  ResourceClaimStatus: '1 allocation *AllocationResult; 2 reservedFor []ResourceClaimConsumerReference; 4 devices []AllocatedDeviceStatus',
  ResourceClaimTemplate: '@1 metadata ObjectMeta; 2 spec ResourceClaimTemplateSpec',
  ResourceClaimTemplateList: '@1 metadata ListMeta; 2 items []ResourceClaimTemplate!',
  ResourceClaimTemplateSpec: '1 metadata ObjectMeta; 2 spec ResourceClaimSpec',
  ResourcePool: '1 name string!; 2 generation int64!; 3 resourceSliceCount int64!',
  ResourceSlice: '@1 metadata ObjectMeta; 2 spec ResourceSliceSpec',
  ResourceSliceList: '@1 metadata ListMeta; 2 items []ResourceSlice!',
  ResourceSliceSpec:
    '1 driver string!; 2 pool ResourcePool; 3 nodeName *string; 4 nodeSelector *core/v1.NodeSelector; 5 allNodes *bool; 6 devices []Device; 7 perDeviceNodeSelection *bool; 8 sharedCounters []CounterSet',
};

/** The protobuf messages of `resource`. */
export const resource: GroupTable = {
  v1,
  v1alpha3: {
    DeviceTaint: '1 key string!; 2 value string; 3 effect string!; 4 timeAdded *time',
    DeviceTaintRule: '@1 metadata ObjectMeta; 2 spec DeviceTaintRuleSpec; 3 status DeviceTaintRuleStatus',
    DeviceTaintRuleList: '@1 metadata ListMeta; 2 items []DeviceTaintRule!',
    DeviceTaintRuleSpec: '1 deviceSelector *DeviceTaintSelector; 2 taint DeviceTaint',
    DeviceTaintRuleStatus: '1 conditions []Condition',
    DeviceTaintSelector: '2 driver *string; 3 pool *string; 4 device *string',
  },
  v1beta1: {
    AllocatedDeviceStatus:
      '1 driver string!; 2 pool string!; 3 device string!; 4 conditions []Condition; 5 data *raw; 6 networkData *NetworkDeviceData; 7 shareID *string',
    AllocationResult: '1 devices DeviceAllocationResult; 3 nodeSelector *core/v1.NodeSelector; 5 allocationTimestamp *time',
    BasicDevice:
      '1 attributes {DeviceAttribute}; 2 capacity {DeviceCapacity}; 3 consumesCounters []DeviceCounterConsumption; 4 nodeName *string; 5 nodeSelector *core/v1.NodeSelector; 6 allNodes *bool; 7 taints []DeviceTaint; 8 bindsToNode *bool; 9 bindingConditions []string; 10 bindingFailureConditions []string; 11 allowMultipleAllocations *bool',
    CELDeviceSelector: '1 expression string!',
    CapacityRequestPolicy: '1 default *quantity; 3 validValues []quantity; 4 validRange *CapacityRequestPolicyRange',
    CapacityRequestPolicyRange: '1 min *quantity; 2 max *quantity; 3 step *quantity',
    CapacityRequirements: '1 requests {quantity}',
    Counter: '1 value quantity',
    CounterSet: '1 name string!; 2 counters {Counter}!',
    Device: '1 name string!; 2 basic *BasicDevice',
    DeviceAllocationConfiguration: '1 source string!; 2 requests []string; 3 +DeviceConfiguration',
    DeviceAllocationResult: '1 results []DeviceRequestAllocationResult; 2 config []DeviceAllocationConfiguration',
    DeviceAttribute: '2 int *int64; 3 bool *bool; 4 string *string; 5 version *string',
    DeviceCapacity: '1 value quantity; 2 requestPolicy *CapacityRequestPolicy',
    DeviceClaim: '1 requests []DeviceRequest; 2 constraints []DeviceConstraint; 3 config []DeviceClaimConfiguration',
    DeviceClaimConfiguration: '1 requests []string; 2 +DeviceConfiguration',
    DeviceClass: '@1 metadata ObjectMeta; 2 spec DeviceClassSpec',
    DeviceClassConfiguration: '1 +DeviceConfiguration',
    DeviceClassList: '@1 metadata ListMeta; 2 items []DeviceClass!',
    DeviceClassSpec: '1 selectors []DeviceSelector; 2 config []DeviceClassConfiguration; 4 extendedResourceName *string',
    DeviceConfiguration: '1 opaque *OpaqueDeviceConfiguration',
    DeviceConstraint: '1 requests []string; 2 matchAttribute *string; 3 distinctAttribute *string',
    DeviceCounterConsumption: '1 counterSet string!; 2 counters {Counter}!',
    DeviceRequest:
      '1 name string!; 2 deviceClassName string!; 3 selectors []DeviceSelector; 4 allocationMode string; 5 count int64; 6 adminAccess *bool; 7 firstAvailable []DeviceSubRequest; 8 tolerations []DeviceToleration; 9 capacity *CapacityRequirements',
    DeviceRequestAllocationResult:
      '1 request string!; 2 driver string!; 3 pool string!; 4 device string!; 5 adminAccess *bool; 6 tolerations []DeviceToleration; 7 bindingConditions []string; 8 bindingFailureConditions []string; 9 shareID *string; 10 consumedCapacity {quantity}',
    DeviceSelector: '1 cel *CELDeviceSelector',
    DeviceSubRequest:
      '1 name string!; 2 deviceClassName string!; 3 selectors []DeviceSelector; 4 allocationMode string; 5 count int64; 7 tolerations []DeviceToleration; 8 capacity *CapacityRequirements',
    DeviceTaint: '1 key string!; 2 value string; 3 effect string!; 4 timeAdded *time',
    DeviceToleration: '1 key string; 2 operator string; 3 value string; 4 effect string; 5 tolerationSeconds *int64',
    NetworkDeviceData: '1 interfaceName string; 2 ips []string; 3 hardwareAddress string',
    OpaqueDeviceConfiguration: '1 driver string!; 2 parameters raw',
    ResourceClaim: '@1 metadata ObjectMeta; 2 spec ResourceClaimSpec; 3 status ResourceClaimStatus',
    ResourceClaimConsumerReference: '1 apiGroup string; 3 resource string!; 4 name string!; 5 uid string!',
    ResourceClaimList: '@1 metadata ListMeta; 2 items []ResourceClaim!',
    ResourceClaimSpec: '1 devices DeviceClaim',
    ResourceClaimStatus:
      '1 allocation *AllocationResult; 2 reservedFor []ResourceClaimConsumerReference; 4 devices []AllocatedDeviceStatus',
    ResourceClaimTemplate: '@1 metadata ObjectMeta; 2 spec ResourceClaimTemplateSpec',
    ResourceClaimTemplateList: '@1 metadata ListMeta; 2 items []ResourceClaimTemplate!',
    ResourceClaimTemplateSpec: '1 metadata ObjectMeta; 2 spec ResourceClaimSpec',
    ResourcePool: '1 name string!; 2 generation int64!; 3 resourceSliceCount int64!',
    ResourceSlice: '@1 metadata ObjectMeta; 2 spec ResourceSliceSpec',
    ResourceSliceList: '@1 metadata ListMeta; 2 items []ResourceSlice!',
    ResourceSliceSpec:
      '1 driver string!; 2 pool ResourcePool; 3 nodeName string; 4 nodeSelector *core/v1.NodeSelector; 5 allNodes bool; 6 devices []Device; 7 perDeviceNodeSelection *bool; 8 sharedCounters []CounterSet',
  },
  v1beta2: v1,
};
