import type {GroupTable} from './group-table.js';

/** The protobuf messages of `extensions`. */
export const extensions: GroupTable = {
  v1beta1: {
    DaemonSet: '@1 metadata ObjectMeta; 2 spec DaemonSetSpec; 3 status DaemonSetStatus',
    DaemonSetCondition: '1 type string!; 2 status string!; 3 lastTransitionTime time; 4 reason string; 5 message string',
    DaemonSetList: '@1 metadata ListMeta; 2 items []DaemonSet!',
    DaemonSetSpec:
      '1 selector *LabelSelector; 2 template core/v1.PodTemplateSpec; 3 updateStrategy DaemonSetUpdateStrategy; 4 minReadySeconds int32; 5 templateGeneration int64; 6 revisionHistoryLimit *int32',
    DaemonSetStatus:
      '1 currentNumberScheduled int32!; 2 numberMisscheduled int32!; 3 desiredNumberScheduled int32!; 4 numberReady int32!; 5 observedGeneration int64; 6 updatedNumberScheduled int32; 7 numberAvailable int32; 8 numberUnavailable int32; 9 collisionCount *int32; 10 conditions []DaemonSetCondition',
    DaemonSetUpdateStrategy: '1 type string; 2 rollingUpdate *RollingUpdateDaemonSet',
    Deployment: '@1 metadata ObjectMeta; 2 spec DeploymentSpec; 3 status DeploymentStatus',
    DeploymentCondition:
      '1 type string!; 2 status string!; 4 reason string; 5 message string; 6 lastUpdateTime time; 7 lastTransitionTime time',
    DeploymentList: '@1 metadata ListMeta; 2 items []Deployment!',
    DeploymentRollback: '@1 name string!; 2 updatedAnnotations {string}; 3 rollbackTo RollbackConfig',
    DeploymentSpec:
      '1 replicas *int32; 2 selector *LabelSelector; 3 template core/v1.PodTemplateSpec; 4 strategy DeploymentStrategy; 5 minReadySeconds int32; 6 revisionHistoryLimit *int32; 7 paused bool; 8 rollbackTo *RollbackConfig; 9 progressDeadlineSeconds *int32',
    DeploymentStatus:
      '1 observedGeneration int64; 2 replicas int32; 3 updatedReplicas int32; 4 availableReplicas int32; 5 unavailableReplicas int32; 6 conditions []DeploymentCondition; 7 readyReplicas int32; 8 collisionCount *int32; 9 terminatingReplicas *int32',
    DeploymentStrategy: '1 type string; 2 rollingUpdate *RollingUpdateDeployment',
    HTTPIngressPath: '1 path string; 2 backend IngressBackend; 3 pathType *string',
    HTTPIngressRuleValue: '1 paths []HTTPIngressPath',
    IPBlock: '1 cidr string!; 2 except []string',
    Ingress: '@1 metadata ObjectMeta; 2 spec IngressSpec; 3 status IngressStatus',
    IngressBackend: '1 serviceName string; 2 servicePort intorstring; 3 resource *core/v1.TypedLocalObjectReference',
    IngressList: '@1 metadata ListMeta; 2 items []Ingress!',
    IngressLoadBalancerIngress: '1 ip string; 2 hostname string; 4 ports []IngressPortStatus',
    IngressLoadBalancerStatus: '1 ingress []IngressLoadBalancerIngress',
    IngressPortStatus: '1 port int32!; 2 protocol string!; 3 error *string',
    IngressRule: '1 host string; 2 +IngressRuleValue',
    IngressRuleValue: '1 http *HTTPIngressRuleValue',
    IngressSpec: '1 backend *IngressBackend; 2 tls []IngressTLS; 3 rules []IngressRule; 4 ingressClassName *string',
    IngressStatus: '1 loadBalancer IngressLoadBalancerStatus',
    IngressTLS: '1 hosts []string; 2 secretName string',
    NetworkPolicy: '@1 metadata ObjectMeta; 2 spec NetworkPolicySpec',
    NetworkPolicyEgressRule: '1 ports []NetworkPolicyPort; 2 to []NetworkPolicyPeer',
    NetworkPolicyIngressRule: '1 ports []NetworkPolicyPort; 2 from []NetworkPolicyPeer',
    NetworkPolicyList: '@1 metadata ListMeta; 2 items []NetworkPolicy!',
    NetworkPolicyPeer: '1 podSelector *LabelSelector; 2 namespaceSelector *LabelSelector; 3 ipBlock *IPBlock',
    NetworkPolicyPort: '1 protocol *string; 2 port *intorstring; 3 endPort *int32',
    NetworkPolicySpec:
      '1 podSelector LabelSelector; 2 ingress []NetworkPolicyIngressRule; 3 egress []NetworkPolicyEgressRule; 4 policyTypes []string',
    ReplicaSet: '@1 metadata ObjectMeta; 2 spec ReplicaSetSpec; 3 status ReplicaSetStatus',
    ReplicaSetCondition: '1 type string!; 2 status string!; 3 lastTransitionTime time; 4 reason string; 5 message string',
    ReplicaSetList: '@1 metadata ListMeta; 2 items []ReplicaSet!',
    ReplicaSetSpec: '1 replicas *int32; 2 selector *LabelSelector; 3 template core/v1.PodTemplateSpec; 4 minReadySeconds int32',
    ReplicaSetStatus:
      '1 replicas int32!; 2 fullyLabeledReplicas int32; 3 observedGeneration int64; 4 readyReplicas int32; 5 availableReplicas int32; 6 conditions []ReplicaSetCondition; 7 terminatingReplicas *int32',
    RollbackConfig: '1 revision int64',
    RollingUpdateDaemonSet: '1 maxUnavailable *intorstring; 2 maxSurge *intorstring',
    RollingUpdateDeployment: '1 maxUnavailable *intorstring; 2 maxSurge *intorstring',
    Scale: '@1 metadata ObjectMeta; 2 spec ScaleSpec; 3 status ScaleStatus',
    ScaleSpec: '1 replicas int32',
    ScaleStatus: '1 replicas int32!; 2 selector {string}; 3 targetSelector string',
  },
};
