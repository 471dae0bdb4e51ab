/** The user of a request, by authentication or impersonation. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Groups and users with a fixed meaning (the API reference, authentication). */
export const wellKnown = {
  anonymous: 'system:anonymous',
  authenticated: 'system:authenticated',
  unauthenticated: 'system:unauthenticated',
  masters: 'system:masters',
  /** The API server itself, as it writes objects of its own. */
  server: 'system:apiserver',
  nodes: 'system:nodes',
  nodeUserPrefix: 'system:node:',
  serviceAccounts: 'system:serviceaccounts',
} as const;

/** The user a service account acts as. */
export const serviceAccountUser = (namespace: string, name: string, uid?: string): UserInfo => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  ...(uid ? {uid} : {}),
  groups: [wellKnown.serviceAccounts, `${wellKnown.serviceAccounts}:${namespace}`, wellKnown.authenticated],
});
