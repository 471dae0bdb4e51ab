// Runs an operator under the rights of its manifests.

import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {serviceAccountUser, type UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {explainingRefusals, type RefusedRequest} from '#src/client/refusals.js';
import {distinctRights, ruleLine, rulesOf, type Right} from '#src/codegen/rights/rules.js';
import type {Client} from '#src/operator/client/client.js';
import {clientOf} from '#src/operator/client/client-of.js';
import {isManifestList} from '#src/plane/manifests/manifest-list.js';
import {readManifests, type Manifest} from '#src/plane/manifests/read.js';

/** The part of a plane that rights are tested on. */
interface RestrictingPlane {
  readonly naming: Naming;
  readonly clock: Clock;
  client(user?: UserInfo): Client;
  apply(manifests: readonly Manifest[]): Promise<KubeObject[]>;
}

/** Options of `restricted`. */
export interface RestrictedOptions {
  /** The namespace of namespaced objects that name none, as kustomize sets it. Default `default`. */
  readonly namespace?: string;
}

/** An operator with the rights of a service account. */
export interface Restricted {
  /** Acts as the service account. The error of a request that it may not make names the line that its role needs. */
  readonly client: Client;
  /** What was refused so far, as the lines that the roles need; empty if nothing was. */
  missing(): string;
}

/**
 * Applies a service account with its roles, and returns a client with exactly these rights, for the manager in a test.
 * At the end of a test, `missing()` must be empty:
 *
 *     const {client, missing} = await restricted(plane, 'manifests/rights.yaml');
 *     const manager = createManager({controllers: [backups], client});
 *     t.after(() => assert.equal(missing(), ''));
 */
export const restricted = async (
  plane: RestrictingPlane,
  manifests: Manifest | readonly Manifest[],
  {namespace: given = 'default'}: RestrictedOptions = {},
): Promise<Restricted> => {
  const documents = readManifests(isManifestList(manifests) ? manifests : [manifests]).map(({object}) => inNamespace(object, given));
  const accounts = documents.filter(({kind}) => kind === 'ServiceAccount');
  const [account] = accounts;
  if (!account || accounts.length > 1) throw new TypeError('the manifests must have one ServiceAccount');
  const {name = '', namespace = given} = account.metadata ?? {};
  const namespaces = new Set([namespace, ...documents.flatMap(({metadata}) => (metadata?.namespace ? [metadata.namespace] : []))]);
  await plane.apply([...namespaces].map(each => ({apiVersion: 'v1', kind: 'Namespace', metadata: {name: each}})));
  await plane.apply(documents);
  const own = plane.client(serviceAccountUser(namespace, name));
  const refused: Right[] = [];
  const text = (rights: readonly Right[]) => (rights.length > 0 ? `${name} needs:\n${linesOf(rights)}` : '');
  const explain = async (request: RefusedRequest): Promise<string | undefined> => {
    const lacking = await lackingRights(own, request);
    refused.push(...lacking);
    return lacking.length > 0 ? text(lacking) : undefined;
  };
  const client = clientOf(explainingRefusals(own, explain), {clock: plane.clock, fieldManager: name});
  return {client, missing: () => text(refused)};
};

/** Returns an object with its namespace; cluster-scoped kinds of rights have none. */
const inNamespace = (object: KubeObject, namespace: string): KubeObject =>
  ['ServiceAccount', 'Role', 'RoleBinding'].includes(object.kind ?? '') && !object.metadata?.namespace
    ? {...object, metadata: {...object.metadata, namespace}}
    : object;

const linesOf = (rights: readonly Right[]): string =>
  rulesOf(distinctRights(rights), undefined)
    .map(rule => `  ${ruleLine(rule)}`)
    .join('\n');

/** Returns the rights that a refused request lacks; none if it was refused for another reason, such as a quota. */
const lackingRights = async (client: Client, {kind, verb, subresource, namespace, name}: RefusedRequest): Promise<Right[]> => {
  const group = client.naming.group(kind.group);
  // A server-side apply that creates the object needs both.
  const verbs = verb === 'apply' ? (subresource ? ['patch'] : ['patch', 'create']) : [verb];
  const lacking: Right[] = [];
  for (const each of verbs) {
    const resourceAttributes = {group, version: kind.version, resource: kind.plural, verb: each, subresource, namespace, name};
    const {status} = await client.resource(kinds.selfSubjectAccessReviews).create({spec: {resourceAttributes}});
    if (!status?.allowed) lacking.push({group, resource: subresource ? `${kind.plural}/${subresource}` : kind.plural, verb: each});
  }
  return lacking;
};
