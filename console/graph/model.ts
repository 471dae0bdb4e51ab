// Collects the graph around an object: its owners to the left, what it owns and refers to on the right.

import {together} from '#page/api/call.js';
import {kindNamed, kindOf, type Resource} from '#page/api/kinds.js';
import {listObjects, readObject, type AnyObject} from '#page/api/objects.js';
import {ownedBy, scanAround, unreadKind, type Dependent} from './dependents.js';
import {healthOf, type Health} from './health.js';
import {referencesOf, selectorOf, type Reference} from './references.js';

export interface GraphNode {
  readonly id: string;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  /** The column: below 0 owners and what refers to the object, 0 the object, above 0 what it owns and refers to. */
  readonly level: number;
  health?: Health | undefined;
  isMissing?: boolean;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

export interface GraphModel {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** How many nodes are left out. */
  readonly omitted: number;
  /** The kinds that could not be read, or not whole. */
  readonly unread: readonly string[];
}

/** More than these in one column are left out. */
const mostOfLevel = 30;
const mostRead = 60;
/** The most objects that are looked through for references to this one. */
const mostReferring = 500;

const idOf = (resource: Resource, namespace: string, name: string): string => `${resource.group}/${resource.plural}/${namespace}/${name}`;

class Builder {
  readonly nodes = new Map<string, GraphNode>();
  readonly edges = new Map<string, GraphEdge>();
  omitted = 0;
  readonly unread = new Set<string>();

  /** Lists a kind, of which nothing is shown if it cannot be read. */
  async list(resource: Resource, namespace: string, options: Parameters<typeof listObjects>[2]): Promise<readonly AnyObject[]> {
    try {
      return (await listObjects(resource, namespace, options)).objects;
    } catch (error) {
      if (options.signal.aborted) throw error;
      this.unread.add(unreadKind(resource, error));
      return [];
    }
  }

  add(resource: Resource, namespace: string, name: string, level: number): GraphNode | undefined {
    const id = idOf(resource, namespace, name);
    const known = this.nodes.get(id);
    if (known) return known;
    if ([...this.nodes.values()].filter(each => each.level === level).length >= mostOfLevel) {
      this.omitted++;
      return undefined;
    }
    const node = {id, resource, namespace, name, level};
    this.nodes.set(id, node);
    return node;
  }

  link(from: GraphNode | undefined, to: GraphNode | undefined, why: string): void {
    if (from && to && from !== to) this.edges.set(`${from.id} ${to.id} ${why}`, {from: from.id, to: to.id, why});
  }
}

/** Adds the owners of an object, and theirs. */
const addOwners = (builder: Builder, node: GraphNode, owned: Dependent['metadata'], byUid: ReadonlyMap<string, Dependent>): void => {
  for (const {uid, kind, apiVersion, name} of owned.ownerReferences ?? []) {
    const found = byUid.get(uid);
    const resource = found?.resource ?? kindNamed(kind, apiVersion);
    if (!resource) continue;
    const owner = builder.add(resource, resource.isNamespaced ? node.namespace : '', name, node.level - 1);
    builder.link(owner, node, 'owns');
    if (owner && found && owner.level > -4) addOwners(builder, owner, found.metadata, byUid);
  }
};

/** Adds what an object owns, and returns the uids of all of it. */
const addOwned = (builder: Builder, root: GraphNode, rootUid: string, all: readonly Dependent[]): ReadonlySet<string> => {
  const levels = new Map([[rootUid, root]]);
  const owned = ownedBy(rootUid, all);
  // Owners come before what they own.
  for (let left = owned, before = -1; left.length > 0 && left.length !== before;) {
    before = left.length;
    left = left.filter(each => {
      const owners = (each.metadata.ownerReferences ?? []).flatMap(({uid}) => levels.get(uid) ?? []);
      if (owners.length === 0) return true;
      const node = builder.add(
        each.resource,
        each.metadata.namespace ?? '',
        each.metadata.name,
        Math.max(...owners.map(({level}) => level)) + 1,
      );
      if (node) levels.set(each.metadata.uid, node);
      for (const owner of owners) builder.link(owner, node, 'owns');
      return false;
    });
  }
  return new Set(owned.map(each => each.metadata.uid));
};

const addReferences = (builder: Builder, node: GraphNode, references: readonly Reference[]): void => {
  for (const {why, resource, namespace, name} of references)
    builder.link(node, builder.add(resource, namespace, name, node.level + 1), why);
};

/** The kinds whose objects may refer to one of a kind. */
const referring: Readonly<Record<string, readonly (readonly [plural: string, group: string])[]>> = {
  configmaps: [['pods', '']],
  secrets: [
    ['pods', ''],
    ['ingresses', 'networking'],
  ],
  serviceaccounts: [
    ['pods', ''],
    ['rolebindings', 'rbac'],
    ['clusterrolebindings', 'rbac'],
  ],
  persistentvolumeclaims: [['pods', '']],
  persistentvolumes: [
    ['persistentvolumeclaims', ''],
    ['volumeattachments', 'storage'],
  ],
  services: [
    ['ingresses', 'networking'],
    ['endpointslices', 'discovery'],
  ],
  roles: [['rolebindings', 'rbac']],
  clusterroles: [
    ['clusterrolebindings', 'rbac'],
    ['rolebindings', 'rbac'],
  ],
  deployments: [['horizontalpodautoscalers', 'autoscaling']],
  statefulsets: [['horizontalpodautoscalers', 'autoscaling']],
  storageclasses: [['persistentvolumeclaims', '']],
};

const addReferring = async (builder: Builder, node: GraphNode, signal: AbortSignal): Promise<void> => {
  await together(referring[node.resource.plural] ?? [], async ([plural, group]) => {
    const resource = kindOf(plural, group);
    if (!resource) return;
    const objects = await builder.list(resource, node.namespace, {most: mostReferring, signal});
    for (const item of objects) {
      const reference = referencesOf(resource, item).find(each => idOf(each.resource, each.namespace, each.name) === node.id);
      if (reference)
        builder.link(builder.add(resource, item.metadata.namespace ?? '', item.metadata.name, node.level - 1), node, reference.why);
    }
  });
};

/** Adds the pods that an object selects, besides those that it owns. */
const addSelected = async (
  builder: Builder,
  node: GraphNode,
  selector: string,
  owned: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> => {
  const pods = kindOf('pods');
  if (!pods || !node.namespace) return;
  const objects = await builder.list(pods, node.namespace, {labels: selector, most: mostOfLevel + 1, signal});
  for (const {metadata} of objects) {
    if (owned.has(metadata.uid)) continue;
    const pod = builder.add(pods, metadata.namespace ?? '', metadata.name, node.level + 1);
    builder.link(node, pod, 'selects');
  }
};

/** Reads the graph around an object. */
export const readGraph = async (resource: Resource, object: AnyObject, signal: AbortSignal): Promise<GraphModel> => {
  const {metadata} = object;
  const builder = new Builder();
  const root = builder.add(resource, metadata.namespace ?? '', metadata.name, 0)!;
  const {all, unread} = await scanAround(resource, object, signal);
  for (const kind of unread) builder.unread.add(kind);
  addOwners(builder, root, metadata, new Map(all.map(each => [each.metadata.uid, each])));
  const isNamespace = resource.plural === 'namespaces' && resource.group === '';
  const owned = isNamespace ? new Set<string>() : addOwned(builder, root, metadata.uid, all);
  addReferences(builder, root, referencesOf(resource, object));
  const selector = selectorOf(object, resource);
  if (selector) await addSelected(builder, root, selector, owned, signal);
  await addReferring(builder, root, signal);
  await together([...builder.nodes.values()].slice(0, mostRead), async node => {
    try {
      node.health = healthOf(node === root ? object : await readObject(node.resource, node.namespace, node.name, signal));
    } catch (error) {
      if (signal.aborted) throw error;
      node.isMissing = (error as {status?: number}).status === 404;
    }
  });
  return {nodes: [...builder.nodes.values()], edges: [...builder.edges.values()], omitted: builder.omitted, unread: [...builder.unread]};
};
