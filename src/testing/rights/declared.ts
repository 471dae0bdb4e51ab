// The rights that follow from declarations: what controllers cache, and what their program needs by itself.

import {groupResource, kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Right} from '#src/codegen/rights/rules.js';
import type {OperatorController} from '#src/operator/controller.js';
import {declarationOf} from '#src/operator/declarations.js';
import type {Webhook} from '#src/operator/webhooks/admission.js';
import {kindOf, type Source} from '#src/operator/sources.js';

/** What a program needs besides its controllers, in its own namespace. */
export interface ProgramNeeds {
  /** The namespace that the operator runs in. Default: its name. */
  readonly namespace?: string;
  /** Whether it elects a leader. The name of the Lease: that of the operator. */
  readonly leaderElection?: boolean;
  /** Whether it serves secured metrics: it asks the API server who reads them, and whether they may. */
  readonly metrics?: boolean;
  /** The webhooks of the program. The name of the Secret: that of the operator with `-webhook-cert`. */
  readonly webhooks?: {readonly handlers: readonly Webhook[]; readonly configurations?: readonly string[]; readonly secret?: string};
}

const each = (verbs: readonly string[], right: Omit<Right, 'verb'>): readonly Right[] => verbs.map(verb => ({...right, verb}));

/** Returns the rights to read what a controller caches, and those of its owner references. */
export const declaredRights = (controller: OperatorController, naming: Naming, namespaces: readonly string[]): readonly Right[] => {
  const {primary, owns} = declarationOf(controller);
  const kind = kindOf(primary);
  // An owner reference that blocks the deletion of its owner needs this right.
  const finalizers = owns ? each(['update'], {group: naming.group(kind.group), resource: `${kind.plural}/finalizers`}) : [];
  return [...controller.sources.flatMap(source => cachedRights(source, naming, namespaces)), ...finalizers];
};

const cachedRights = (source: Source, naming: Naming, namespaces: readonly string[]): readonly Right[] => {
  const kind = kindOf(source) as Kind;
  const right = {group: naming.group(kind.group), resource: kind.plural};
  const {namespace = undefined, fieldSelector = ''} =
    typeof source.kind === 'object' ? (source as {namespace?: string; fieldSelector?: string}) : {};
  const named = /^metadata\.name==?([^,=!]+)$/.exec(fieldSelector)?.[1];
  const within = !kind.namespaced ? [undefined] : namespace ? [namespace] : namespaces.length > 0 ? namespaces : [undefined];
  return within.flatMap(place =>
    each(['get', 'list', 'watch'], {
      ...right,
      ...(place === undefined ? {} : {namespace: place}),
      ...(named === undefined ? {} : {name: named}),
    }),
  );
};

/**
 * Returns the rights of a program: Events, its Lease, the reviews of its metrics, its Secret, and the objects whose CA
 * it keeps.
 */
export const programRights = (
  {name, namespace = name, leaderElection, metrics, webhooks}: ProgramNeeds & {readonly name: string},
  naming: Naming,
): readonly Right[] => {
  const of = (kind: Kind) => ({group: naming.group(kind.group), resource: kind.plural});
  const election = {...of(kinds.leases as Kind), namespace};
  return [
    ...each(['create', 'patch'], {group: naming.group(kinds.coreEvents.group), resource: 'events'}),
    ...(leaderElection ? [...each(['create'], election), ...each(['get', 'update'], {...election, name})] : []),
    ...(metrics ? [...each(['create'], of(kinds.tokenReviews)), ...each(['create'], of(kinds.subjectAccessReviews))] : []),
    ...(webhooks ? webhookRights(webhooks, {name, namespace, naming}) : []),
  ];
};

const webhookRights = (
  {handlers, configurations = [], secret}: NonNullable<ProgramNeeds['webhooks']>,
  {name, namespace, naming}: {readonly name: string; readonly namespace: string; readonly naming: Naming},
): readonly Right[] => {
  const of = (kind: Kind) => ({group: naming.group(kind.group), resource: kind.plural});
  const kept = (kind: Kind, object: string) => each(['get', 'list', 'watch', 'patch'], {...of(kind), name: object});
  const secrets = {...of(kinds.secrets as Kind), namespace};
  const definitions = handlers.filter(({type}) => type === 'converting').map(({kind}) => groupResource(naming, kind));
  return [
    ...each(['create'], secrets),
    ...each(['get', 'update'], {...secrets, name: secret ?? `${name}-webhook-cert`}),
    ...configurations.flatMap(each => [
      ...kept(kinds.mutatingWebhookConfigurations as Kind, each),
      ...kept(kinds.validatingWebhookConfigurations as Kind, each),
    ]),
    ...[...new Set(definitions)].flatMap(each => kept(kinds.customResourceDefinitions as Kind, each)),
  ];
};
