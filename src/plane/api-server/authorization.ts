// The authorizers of a server: from `--authorization-mode` and its flags, or from the file of `--authorization-config`,
// which may change while it runs.

import {hostname} from 'node:os';
import type {Authorizer} from '#src/api/authorization.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {contentOf, followFiles, type Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {ActionContext} from '#src/resources/definition.js';
import {abacAuthorizer} from '#src/apiserver/authorization/abac/authorizer.js';
import {readPolicies} from '#src/apiserver/authorization/abac/policy-file.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {openChain, ReplaceableChain, type ChainParts, type LastingAuthorizers} from '#src/apiserver/authorization/configuration/chain.js';
import {readAuthorization} from '#src/apiserver/authorization/configuration/read.js';
import {reloadMetrics} from '#src/apiserver/configuration/reload-metrics.js';
import {nameOfType, type AuthorizerSettings} from '#src/apiserver/authorization/configuration/types.js';
import {NodeAuthorizer} from '#src/apiserver/authorization/node/authorizer.js';
import {NodeGraph} from '#src/apiserver/authorization/node/graph.js';
import {Rbac} from '#src/apiserver/authorization/rbac.js';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import type {Network} from '#src/transport/network.js';

/** The authorizers of a server. */
export interface Authorizers {
  readonly authorizer: Authorizer;
  readonly rulesFor: ActionContext['rulesFor'];
  /** Set in mode RBAC. */
  readonly rbac: Rbac | undefined;
  /** Set in mode Node. */
  readonly nodes: NodeGraph | undefined;
}

export type AuthorizationOptions = Pick<
  ApiserverOptions,
  | 'authorizationMode'
  | 'authorizationConfig'
  | 'authorizationPolicyFile'
  | 'authorizationWebhookConfigFile'
  | 'authorizationWebhookVersion'
  | 'authorizationWebhookCacheAuthorizedTtl'
  | 'authorizationWebhookCacheUnauthorizedTtl'
>;

export interface AuthorizationParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly files: Files;
  /** The network of webhooks; by default that of this machine. */
  readonly network?: Network | undefined;
  /** Ends the following of the configuration, and closes the connections to webhooks. */
  readonly signal: AbortSignal;
  gate(name: string): boolean;
}

/**
 * Creates the authorizers in their order; `system:masters` are allowed before. Rejects with an error of one line that
 * names the flag of a file that cannot be used.
 */
export const createAuthorizers = async (options: AuthorizationOptions, parts: AuthorizationParts): Promise<Authorizers> => {
  const {authorizationConfig: path} = options;
  const file = path ? await configurationIn(path, parts) : undefined;
  const settings = file?.authorizers ?? settingsOfFlags(options);
  const {lasting, rbac, nodes} = await lastingAuthorizers(settings, options, parts);
  const flag = path ? `--authorization-config: ${path}:` : '--authorization-webhook-config-file';
  const chainParts: ChainParts = {...parts, lasting, flag};
  const chain = new ReplaceableChain(await openChain(settings, chainParts));
  parts.signal.addEventListener('abort', () => void chain.close(), {once: true});
  if (file) followConfiguration(path, file, chain, {...parts, ...chainParts});
  return {authorizer: chain, rulesFor: (user, namespace) => chain.rulesFor(user, namespace), rbac, nodes};
};

/** The name in metrics of the webhook that flags name. */
const webhookName = 'default';

const settingsOfFlags = (options: AuthorizationOptions): AuthorizerSettings[] =>
  options.authorizationMode.map(type => {
    if (type !== 'Webhook') return {type, name: nameOfType(type)};
    const webhook = {
      kubeConfigFile: options.authorizationWebhookConfigFile,
      timeoutMs: 30_000,
      version: options.authorizationWebhookVersion,
      allowedTtlMs: options.authorizationWebhookCacheAuthorizedTtl,
      deniedTtlMs: options.authorizationWebhookCacheUnauthorizedTtl,
      onFailure: 'noOpinion',
      conditions: undefined,
    } as const;
    return {type, name: webhookName, webhook};
  });

/** A configuration file as it was last read. */
interface ReadFile {
  readonly content: string;
  readonly authorizers: readonly AuthorizerSettings[];
  readonly canonical: string;
}

const configurationIn = async (path: string, {naming, files}: AuthorizationParts): Promise<ReadFile> => {
  try {
    const content = (await contentOf(files, path)).toString();
    return {content, ...(await readAuthorization(content, {naming, files}))};
  } catch (cause) {
    throw new Error(`--authorization-config: ${path}: ${(cause as Error).message}`, {cause});
  }
};

const lastingAuthorizers = async (
  settings: readonly AuthorizerSettings[],
  {authorizationPolicyFile: path}: AuthorizationOptions,
  {naming, files, log, gate}: AuthorizationParts,
): Promise<{readonly lasting: LastingAuthorizers} & Pick<Authorizers, 'rbac' | 'nodes'>> => {
  const has = (type: AuthorizerSettings['type']) => settings.some(one => one.type === type);
  const rbac = has('RBAC') ? new Rbac(naming) : undefined;
  const nodes = has('Node') ? new NodeGraph(naming) : undefined;
  const lasting: LastingAuthorizers = {
    ...(rbac ? {RBAC: rbac} : {}),
    ...(nodes ? {Node: new NodeAuthorizer({graph: nodes, naming, rules: nodeRules(naming, gate), gate})} : {}),
    ...(has('ABAC') ? {ABAC: await policyAuthorizer(path, {naming, files, log})} : {}),
  };
  return {lasting, rbac, nodes};
};

const policyAuthorizer = async (path: string, {naming, files, log}: Pick<AuthorizationParts, 'naming' | 'files' | 'log'>) => {
  try {
    const {policies, isUnversioned} = readPolicies(path, (await contentOf(files, path)).toString(), naming);
    if (isUnversioned) log.warn({path}, 'the policy file contains rules without a version');
    return abacAuthorizer(policies);
  } catch (cause) {
    throw new Error(`--authorization-policy-file: ${(cause as Error).message}`, {cause});
  }
};

/** The rules that apply to all nodes: those of the role that was once bound to them. */
const nodeRules = (naming: Naming, gate: (name: string) => boolean) =>
  bootstrapPolicy(naming, gate).clusterRoles.find(({metadata}) => metadata?.name === 'system:node')?.rules ?? [];

/**
 * Replaces the chain when the file has another valid configuration; one that is not valid changes nothing. All types
 * but webhooks must remain.
 */
const followConfiguration = (path: string, initial: ReadFile, chain: ReplaceableChain, parts: AuthorizationParts & ChainParts): void => {
  const {naming, files, clock, log, meter, signal} = parts;
  const metrics = reloadMetrics({subject: 'authorization', server: serverIdentity(hostname()), meter, clock});
  const requiredTypes = initial.authorizers.map(({type}) => type).filter(type => type !== 'Webhook');
  let {content, canonical} = initial;
  metrics.applied(content);
  const reload = async (): Promise<boolean> => {
    const fresh = (await contentOf(files, path)).toString();
    if (fresh === content) return false;
    content = fresh;
    const read = await readAuthorization(fresh, {naming, files, requiredTypes});
    if (read.canonical === canonical) return false;
    canonical = read.canonical;
    const next = await openChain(read.authorizers, parts);
    if (signal.aborted) await next.close();
    else await chain.replace(next);
    return true;
  };
  const check = async () => {
    try {
      if (!(await reload())) return;
      metrics.reloaded('success');
      metrics.applied(content);
      log.info({path}, 'reloaded the authorization configuration');
    } catch (error) {
      metrics.reloaded('failure');
      log.error({path, err: error}, 'keeping the authorization configuration in use: the file could not be loaded');
    }
  };
  followFiles({files, clock, paths: [path], signal, check});
};
