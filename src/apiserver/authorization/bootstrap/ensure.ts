import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {isAlreadyExists, isConflict, isNotFound, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {BootstrapPolicy} from './policy.js';
import {reconcileBinding, reconcileRole, type Step} from './reconcile.js';

interface Address {
  readonly namespace?: string;
}

/** The required part of a client. */
export interface PolicyClient {
  resource<T extends KubeObject>(
    kind: Kind<T>,
  ): {
    list(): Promise<{items: T[]}>;
    get(name: string, options?: Address): Promise<T>;
    create(object: T, options?: Address): Promise<T>;
    update(object: T, options?: Address): Promise<T>;
    delete(name: string, options?: Address): Promise<unknown>;
  };
}

/** The number of concurrent writes: enough to share commits, few enough to leave room for others. */
const concurrency = 32;
const attempts = 5;

const addressOf = ({metadata}: KubeObject): Address => (metadata?.namespace ? {namespace: metadata.namespace} : {});
/** Whether a read failed because of what the store holds. */
const isUnreadable = (error: unknown): boolean => error instanceof StatusError && error.status.code === 500;

const keyOf = ({metadata}: KubeObject): string => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

const inBatches = async <T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> => {
  for (let at = 0; at < items.length; at += concurrency) await Promise.all(items.slice(at, at + concurrency).map(run));
};

type Reconcile<T> = (existing: T | undefined, expected: T, naming: Naming) => Step<T>;

class Ensurer {
  readonly #client: PolicyClient;
  readonly #naming: Naming;

  constructor(client: PolicyClient, naming: Naming) {
    this.#client = client;
    this.#naming = naming;
  }

  /**
   * Returns all existing objects of a kind, by key; none if one of them cannot be read, as then each is read by itself.
   */
  async existing<T extends KubeObject>(kind: Kind<T>): Promise<Map<string, T>> {
    try {
      const {items} = await this.#client.resource(kind).list();
      return new Map(items.map(item => [keyOf(item), item]));
    } catch (error) {
      if (isUnreadable(error)) return new Map();
      throw error;
    }
  }

  /** Creates or updates the expected objects. */
  async all<T extends KubeObject>(
    kind: Kind<T>,
    existing: ReadonlyMap<string, T>,
    expected: readonly T[],
    reconcile: Reconcile<T>,
  ): Promise<void> {
    const lacking = expected.filter(object => reconcile(existing.get(keyOf(object)), object, this.#naming).do !== 'nothing');
    await inBatches(lacking, object => this.#one(kind, existing.get(keyOf(object)), object, reconcile));
  }

  /**
   * Creates or updates one object, and retries with the current state after a conflict. One that cannot be read is left
   * until it is deleted.
   */
  async #one<T extends KubeObject>(kind: Kind<T>, first: T | undefined, expected: T, reconcile: Reconcile<T>): Promise<void> {
    let existing = first;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#take(kind, reconcile(existing, expected, this.#naming));
      } catch (error) {
        // A create of one that exists and cannot be read is no AlreadyExists.
        const mayExist = isConflict(error) || isAlreadyExists(error) || isNotFound(error) || isUnreadable(error);
        if (attempt === attempts || !mayExist) throw error;
        try {
          existing = await this.#current(kind, expected);
        } catch (failure) {
          if (isUnreadable(failure)) return;
          throw failure;
        }
      }
    }
  }

  async #take<T extends KubeObject>(kind: Kind<T>, step: Step<T>): Promise<void> {
    const resource = this.#client.resource(kind);
    if (step.do === 'recreate') await resource.delete(step.old.metadata?.name ?? '', addressOf(step.old));
    if (step.do === 'update') await resource.update(step.object, addressOf(step.object));
    else if (step.do !== 'nothing') await resource.create(step.object, addressOf(step.object));
  }

  async #current<T extends KubeObject>(kind: Kind<T>, {metadata}: T): Promise<T | undefined> {
    try {
      return await this.#client.resource(kind).get(metadata?.name ?? '', addressOf({metadata: metadata ?? {}}));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Creates missing namespaces. One that cannot be read is left as it is. */
  async namespaces(names: Iterable<string>): Promise<void> {
    for (const name of names) {
      try {
        const namespace = {metadata: {name}};
        if (!(await this.#current(kinds.namespaces, namespace))) await this.#client.resource(kinds.namespaces).create(namespace);
      } catch (error) {
        if (!isAlreadyExists(error) && !isUnreadable(error)) throw error;
      }
    }
  }
}

/**
 * Creates the bootstrap policy, and restores what was removed from it. Rules of aggregated roles are left empty: a
 * controller fills them.
 */
export const ensureBootstrapPolicy = async (client: PolicyClient, naming: Naming, policy: BootstrapPolicy): Promise<void> => {
  const ensurer = new Ensurer(client, naming);
  const ensureAll = async <T extends KubeObject>(kind: Kind<T>, expected: readonly T[], reconcile: Reconcile<T>): Promise<void> =>
    ensurer.all(kind, await ensurer.existing(kind), expected, reconcile);
  const inNamespaces = async (): Promise<void> => {
    await ensurer.namespaces(new Set(policy.roles.map(({metadata}) => metadata?.namespace ?? '')));
    await ensureAll(kinds.roles, policy.roles, reconcileRole);
    await ensureAll(kinds.roleBindings, policy.roleBindings, reconcileBinding);
  };
  await Promise.all([
    ensureAll(kinds.clusterRoles, policy.clusterRoles, reconcileRole),
    ensureAll(kinds.clusterRoleBindings, policy.clusterRoleBindings, reconcileBinding),
    inNamespaces(),
  ]);
};
