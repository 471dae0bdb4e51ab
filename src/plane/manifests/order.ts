import {isOfKind, kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Document} from './read.js';

/**
 * The kinds that are applied first. Kinds in none of these lists come between `dependencies` and `admissionKinds`, in
 * the order written.
 */
const first: readonly Kind[] = [kinds.namespaces, kinds.customResourceDefinitions];
/** Kinds that others refer to on creation. */
const dependencies: readonly Kind[] = [
  kinds.priorityClasses,
  kinds.runtimeClasses,
  kinds.storageClasses,
  kinds.ingressClasses,
  kinds.serviceAccounts,
  kinds.secrets,
  kinds.configMaps,
  kinds.limitRanges,
  kinds.resourceQuotas,
];
/** Kinds that affect all later writes, possibly through servers that do not run yet. */
const admissionKinds: readonly Kind[] = [
  kinds.apiServices,
  kinds.mutatingAdmissionPolicies,
  kinds.mutatingAdmissionPolicyBindings,
  kinds.validatingAdmissionPolicies,
  kinds.validatingAdmissionPolicyBindings,
  kinds.mutatingWebhookConfigurations,
  kinds.validatingWebhookConfigurations,
];

/** The documents in three stages, each of which can be applied after the previous one. */
export interface Stages {
  readonly namespaces: readonly Document[];
  readonly definitions: readonly Document[];
  readonly others: readonly Document[];
}

/** Sorts documents into a working order. */
export const stagesOf = (documents: readonly Document[], naming: Naming): Stages => {
  const of = (kind: Kind) => documents.filter(document => isOf(document, kind, naming));
  const ordered = [...first, ...dependencies, ...admissionKinds];
  const unnamed = documents.filter(document => !ordered.some(kind => isOf(document, kind, naming)));
  return {
    namespaces: of(kinds.namespaces),
    definitions: of(kinds.customResourceDefinitions),
    others: [...dependencies.flatMap(of), ...unnamed, ...admissionKinds.flatMap(of)],
  };
};

/** Whether a document has a kind, in any version. */
export const isOf = ({object}: Document, of: Kind, naming: Naming): boolean => isOfKind(object, of, naming);
