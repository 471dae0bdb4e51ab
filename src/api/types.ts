import type * as upstream from '@kubernetes/client-node';

/**
 * A type of the upstream library as it is on the wire: dates are strings, and fields named by a reserved word have no
 * underscore before it.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? {[K in keyof T as K extends `_${infer Name}` ? Name : K]: Wire<T[K]>}
      : T;

/** The metadata of an object (meta/v1). */
export type ObjectMeta = Wire<upstream.V1ObjectMeta>;
/** A reference to an owner of an object, with which it is deleted (meta/v1). */
export type OwnerReference = Wire<upstream.V1OwnerReference>;
export type ListMeta = Wire<upstream.V1ListMeta>;

/** What every stored object has. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** A list of `T` as served. */
export interface KubeList<T> {
  apiVersion?: string;
  kind?: string;
  metadata?: ListMeta;
  items: T[];
}

export type CertificateSigningRequest = Wire<upstream.V1CertificateSigningRequest>;
export type CertificateSigningRequestCondition = Wire<upstream.V1CertificateSigningRequestCondition>;
export type Namespace = Wire<upstream.V1Namespace>;
/** Adds the declared features of the agent (KEP-5328), which the library lacks. */
export type Node = Wire<upstream.V1Node> & {status?: {declaredFeatures?: string[]}};
export type Secret = Wire<upstream.V1Secret>;
export type ConfigMap = Wire<upstream.V1ConfigMap>;
export type ServiceAccount = Wire<upstream.V1ServiceAccount>;
export type CoreEvent = Wire<upstream.CoreV1Event>;
export type EventsEvent = Wire<upstream.EventsV1Event>;
export type Lease = Wire<upstream.V1Lease>;
export type Role = Wire<upstream.V1Role>;
export type ClusterRole = Wire<upstream.V1ClusterRole>;
export type RoleBinding = Wire<upstream.V1RoleBinding>;
export type ClusterRoleBinding = Wire<upstream.V1ClusterRoleBinding>;
export type PolicyRule = Wire<upstream.V1PolicyRule>;
export type RbacSubject = Wire<upstream.RbacV1Subject>;
export type TokenReview = Wire<upstream.V1TokenReview>;
export type TokenRequest = Wire<upstream.AuthenticationV1TokenRequest>;
export type SubjectAccessReview = Wire<upstream.V1SubjectAccessReview>;
export type LocalSubjectAccessReview = Wire<upstream.V1LocalSubjectAccessReview>;
export type SelfSubjectAccessReview = Wire<upstream.V1SelfSubjectAccessReview>;
export type SelfSubjectRulesReview = Wire<upstream.V1SelfSubjectRulesReview>;
export type SelfSubjectReview = Wire<upstream.V1SelfSubjectReview>;
export type DeleteOptions = Wire<upstream.V1DeleteOptions>;
/** A condition in a status (meta/v1). */
export type Condition = Wire<upstream.V1Condition>;
export type PodTemplateSpec = Wire<upstream.V1PodTemplateSpec>;
export type ObjectReference = Wire<upstream.V1ObjectReference>;
