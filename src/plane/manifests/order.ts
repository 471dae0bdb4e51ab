import {isOfKind, kinds, type Kind} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {Document} from './read.js';

/** Kinds by when they are applied. Whatever stands nowhere comes between `needed` and `judging`, in the order it is written. */
const first: readonly Kind[] = [kinds.namespaces, kinds.customResourceDefinitions];
/** What others name, and cannot be made without. */
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
/** What has a say in whatever is written after it, by servers that may not be there yet. */
const admissionKinds: readonly Kind[] = [
  kinds.apiServices,
  kinds.mutatingAdmissionPolicies,
  kinds.mutatingAdmissionPolicyBindings,
  kinds.validatingAdmissionPolicies,
  kinds.validatingAdmissionPolicyBindings,
  kinds.mutatingWebhookConfigurations,
  kinds.validatingWebhookConfigurations,
];

/** The documents in three stages, each of which can be applied once the one before it is in force. */
export interface Stages {
  readonly namespaces: readonly Document[];
  readonly definitions: readonly Document[];
  readonly others: readonly Document[];
}

/** Puts documents into an order in which they can work. */
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

/** Whether a document is of a kind, whatever its version. */
export const isOf = ({object}: Document, of: Kind, naming: Naming): boolean => isOfKind(object, of, naming);
