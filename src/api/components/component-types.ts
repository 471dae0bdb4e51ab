// The types that kinds are made of, for the fields of your own kinds. `plat generate crds` writes their schemas.

import type * as upstream from '@kubernetes/client-node';
import type {Wire} from '#src/api/types.js';

export type Affinity = Wire<upstream.V1Affinity>;
export type Capabilities = Wire<upstream.V1Capabilities>;
export type ConfigMapKeySelector = Wire<upstream.V1ConfigMapKeySelector>;
export type Container = Wire<upstream.V1Container>;
export type ContainerPort = Wire<upstream.V1ContainerPort>;
export type DeploymentSpec = Wire<upstream.V1DeploymentSpec>;
export type DeploymentStrategy = Wire<upstream.V1DeploymentStrategy>;
export type EnvFromSource = Wire<upstream.V1EnvFromSource>;
export type EnvVar = Wire<upstream.V1EnvVar>;
export type EnvVarSource = Wire<upstream.V1EnvVarSource>;
export type HostAlias = Wire<upstream.V1HostAlias>;
export type IngressSpec = Wire<upstream.V1IngressSpec>;
export type JobSpec = Wire<upstream.V1JobSpec>;
export type JobTemplateSpec = Wire<upstream.V1JobTemplateSpec>;
export type KeyToPath = Wire<upstream.V1KeyToPath>;
export type LabelSelector = Wire<upstream.V1LabelSelector>;
export type LabelSelectorRequirement = Wire<upstream.V1LabelSelectorRequirement>;
export type Lifecycle = Wire<upstream.V1Lifecycle>;
export type LocalObjectReference = Wire<upstream.V1LocalObjectReference>;
export type NodeAffinity = Wire<upstream.V1NodeAffinity>;
export type NodeSelector = Wire<upstream.V1NodeSelector>;
export type NodeSelectorTerm = Wire<upstream.V1NodeSelectorTerm>;
export type ObjectFieldSelector = Wire<upstream.V1ObjectFieldSelector>;
export type ObjectReference = Wire<upstream.V1ObjectReference>;
export type PersistentVolumeClaimSpec = Wire<upstream.V1PersistentVolumeClaimSpec>;
export type PodAffinity = Wire<upstream.V1PodAffinity>;
export type PodAntiAffinity = Wire<upstream.V1PodAntiAffinity>;
export type PodSecurityContext = Wire<upstream.V1PodSecurityContext>;
export type PodSpec = Wire<upstream.V1PodSpec>;
export type PodTemplateSpec = Wire<upstream.V1PodTemplateSpec>;
export type PolicyRule = Wire<upstream.V1PolicyRule>;
export type Probe = Wire<upstream.V1Probe>;
export type ResourceRequirements = Wire<upstream.V1ResourceRequirements>;
export type SecretKeySelector = Wire<upstream.V1SecretKeySelector>;
export type SecretReference = Wire<upstream.V1SecretReference>;
export type SecurityContext = Wire<upstream.V1SecurityContext>;
export type ServicePort = Wire<upstream.V1ServicePort>;
export type ServiceSpec = Wire<upstream.V1ServiceSpec>;
export type StatefulSetSpec = Wire<upstream.V1StatefulSetSpec>;
export type Toleration = Wire<upstream.V1Toleration>;
export type TopologySpreadConstraint = Wire<upstream.V1TopologySpreadConstraint>;
export type TypedLocalObjectReference = Wire<upstream.V1TypedLocalObjectReference>;
export type TypedObjectReference = Wire<upstream.V1TypedObjectReference>;
export type Volume = Wire<upstream.V1Volume>;
export type VolumeMount = Wire<upstream.V1VolumeMount>;
export type VolumeResourceRequirements = Wire<upstream.V1VolumeResourceRequirements>;

/** A number, or a text such as the name of a port or `25%`. */
export type IntOrString = number | string;

/** An amount such as `500m` or `1Gi`. */
export type Quantity = number | string;
