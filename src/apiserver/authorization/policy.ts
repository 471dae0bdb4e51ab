// The RBAC objects in memory, indexed by subject. Fed by a source of changes; it makes no decisions (rbac.ts does).

import type {ClusterRole, ClusterRoleBinding, PolicyRule, RbacSubject, Role, RoleBinding} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';

export type Binding = RoleBinding | ClusterRoleBinding;

/** A role or binding that was added, changed or removed, by its kind. */
export type PolicyChange = {readonly gone: boolean} & (
  | {readonly kind: 'Role'; readonly object: Readonly<Role>}
  | {readonly kind: 'ClusterRole'; readonly object: Readonly<ClusterRole>}
  | {readonly kind: 'RoleBinding'; readonly object: Readonly<RoleBinding>}
  | {readonly kind: 'ClusterRoleBinding'; readonly object: Readonly<ClusterRoleBinding>}
);

/** The source of roles and bindings. */
export interface PolicySource {
  /**
   * Reports all existing objects, then each change, in order, until the signal aborts. Resolves after the existing
   * ones.
   */
  follow(changed: (change: PolicyChange) => void, signal: AbortSignal): Promise<void>;
}

/** A binding that applies to a user, with the matching subject. */
export interface Applied {
  readonly binding: Readonly<Binding>;
  readonly subject: Readonly<RbacSubject>;
}

const user = (name: string): string => `u${name}`;
const group = (name: string): string => `g${name}`;

/** The key of a subject; a service account has that of its user name. */
const keyOf = ({kind, name, namespace}: Readonly<RbacSubject>, bindingNamespace: string): string | undefined => {
  if (kind === 'User') return user(name);
  if (kind === 'Group') return group(name);
  const home = namespace || bindingNamespace;
  return kind === 'ServiceAccount' && home ? user(`system:serviceaccount:${home}:${name}`) : undefined;
};

const byName = (one: Applied, other: Applied): number =>
  (one.binding.metadata?.name ?? '') < (other.binding.metadata?.name ?? '') ? -1 : 1;

/** The bindings of one namespace (or of none), by subject. */
class BindingIndex {
  readonly #namespace: string;
  readonly #bindings = new Map<string, Readonly<Binding>>();
  readonly #bySubject = new Map<string, Set<Readonly<Binding>>>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  set(name: string, binding: Readonly<Binding> | undefined): void {
    const before = this.#bindings.get(name);
    for (const key of this.#keys(before)) {
      const found = this.#bySubject.get(key);
      found?.delete(before!);
      if (found?.size === 0) this.#bySubject.delete(key);
    }
    if (!binding) return void this.#bindings.delete(name);
    this.#bindings.set(name, binding);
    for (const key of this.#keys(binding)) {
      const found = this.#bySubject.get(key);
      if (found) found.add(binding);
      else this.#bySubject.set(key, new Set([binding]));
    }
  }

  /** Ordered by the bindings' names. */
  of({name, groups}: UserInfo): Applied[] {
    const keys = new Set([user(name), ...groups.map(group)]);
    const found = new Set([...keys].flatMap(key => [...(this.#bySubject.get(key) ?? [])]));
    const applied = [...found].flatMap(binding => {
      const subject = binding.subjects?.find(candidate => keys.has(keyOf(candidate, this.#namespace) ?? ''));
      return subject ? [{binding, subject}] : [];
    });
    return applied.sort(byName);
  }

  #keys(binding: Readonly<Binding> | undefined): string[] {
    return (binding?.subjects ?? []).flatMap(subject => keyOf(subject, this.#namespace) ?? []);
  }
}

/**
 * All roles and bindings, indexed by subject. `revision` increases with each change, so that cached results can be
 * recognized as outdated.
 */
export class Policy {
  #revision = 0;
  readonly #clusterBindings = new BindingIndex('');
  readonly #bindings = new Map<string, BindingIndex>();
  readonly #roles = new Map<string, readonly PolicyRule[]>();

  get revision(): number {
    return this.#revision;
  }

  apply({kind, object, gone}: PolicyChange): void {
    this.#revision++;
    const {name = '', namespace = ''} = object.metadata ?? {};
    if (kind === 'ClusterRoleBinding') this.#clusterBindings.set(name, gone ? undefined : object);
    else if (kind === 'RoleBinding') this.#indexOf(namespace).set(name, gone ? undefined : object);
    else if (gone) this.#roles.delete(`${namespace}/${name}`);
    else this.#roles.set(`${namespace}/${name}`, object.rules ?? []);
  }

  /** Returns the rules of a role (of a cluster role without a namespace); undefined if it does not exist. */
  rules(namespace: string, name: string): readonly PolicyRule[] | undefined {
    return this.#roles.get(`${namespace}/${name}`);
  }

  clusterBindingsOf(someone: UserInfo): readonly Applied[] {
    return this.#clusterBindings.of(someone);
  }

  bindingsOf(someone: UserInfo, namespace: string): readonly Applied[] {
    return this.#bindings.get(namespace)?.of(someone) ?? [];
  }

  #indexOf(namespace: string): BindingIndex {
    let index = this.#bindings.get(namespace);
    if (!index) this.#bindings.set(namespace, (index = new BindingIndex(namespace)));
    return index;
  }
}
