import type * as upstream from '@kubernetes/client-node';
import type {Wire} from './types.js';

export type PodStatus = Wire<upstream.V1PodStatus>;
export type PodCondition = Wire<upstream.V1PodCondition>;
export type ContainerStatus = Wire<upstream.V1ContainerStatus>;
export type Container = Wire<upstream.V1Container>;
export type EphemeralContainer = Wire<upstream.V1EphemeralContainer>;
export type ContainerPort = Wire<upstream.V1ContainerPort>;
export type ContainerRestartRule = Wire<upstream.V1ContainerRestartRule>;
export type ResourceRequirements = Wire<upstream.V1ResourceRequirements>;
export type EnvVar = Wire<upstream.V1EnvVar>;
export type EnvFromSource = Wire<upstream.V1EnvFromSource>;
export type VolumeMount = Wire<upstream.V1VolumeMount>;
export type VolumeDevice = Wire<upstream.V1VolumeDevice>;
export type Probe = Wire<upstream.V1Probe>;
export type Lifecycle = Wire<upstream.V1Lifecycle>;
export type LifecycleHandler = Wire<upstream.V1LifecycleHandler>;
export type HTTPGetAction = Wire<upstream.V1HTTPGetAction>;
export type ObjectFieldSelector = Wire<upstream.V1ObjectFieldSelector>;
export type ResourceFieldSelector = Wire<upstream.V1ResourceFieldSelector>;
export type Volume = Wire<upstream.V1Volume>;
/** One source of a projected volume, of release 1.35. */
export type VolumeProjection = Omit<Wire<upstream.V1VolumeProjection>, 'podCertificate'> & {
  podCertificate?: Wire<upstream.V1PodCertificateProjection> & {
    /** Passed to the signer without validation. */
    userAnnotations?: Record<string, string>;
  };
};
export type KeyToPath = Wire<upstream.V1KeyToPath>;
export type DownwardAPIVolumeFile = Wire<upstream.V1DownwardAPIVolumeFile>;
export type SecurityContext = Wire<upstream.V1SecurityContext>;
export type SELinuxOptions = Wire<upstream.V1SELinuxOptions>;
export type SeccompProfile = Wire<upstream.V1SeccompProfile>;
export type AppArmorProfile = Wire<upstream.V1AppArmorProfile>;
export type WindowsSecurityContextOptions = Wire<upstream.V1WindowsSecurityContextOptions>;
export type Affinity = Wire<upstream.V1Affinity>;
export type NodeAffinity = Wire<upstream.V1NodeAffinity>;
export type NodeSelector = Wire<upstream.V1NodeSelector>;
export type NodeSelectorTerm = Wire<upstream.V1NodeSelectorTerm>;
export type NodeSelectorRequirement = Wire<upstream.V1NodeSelectorRequirement>;
export type PodAffinityTerm = Wire<upstream.V1PodAffinityTerm>;
export type Toleration = Wire<upstream.V1Toleration>;
export type TopologySpreadConstraint = Wire<upstream.V1TopologySpreadConstraint>;
export type PodDNSConfig = Wire<upstream.V1PodDNSConfig>;

/** The pod's spec of release 1.35. */
export type PodSpec = Wire<upstream.V1PodSpec> & {
  /** The group of pods it is scheduled with. */
  workloadRef?: {name: string; podGroup: string; podGroupReplicaKey?: string};
};
export type Pod = Wire<upstream.V1Pod>;
export type PodTemplateSpec = Wire<upstream.V1PodTemplateSpec>;
export type Binding = Wire<upstream.V1Binding>;
export type Eviction = Wire<upstream.V1Eviction>;
export type PodTemplate = Wire<upstream.V1PodTemplate>;
export type ReplicationController = Wire<upstream.V1ReplicationController>;
export type PodDisruptionBudget = Wire<upstream.V1PodDisruptionBudget>;

/** What containers of all three sorts share. */
export type AnyContainer = Container | EphemeralContainer;
