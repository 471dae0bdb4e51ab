// The fields of the configuration file of `plat up`, each with the flag that it stands for. Decoding, the JSON Schema
// and the page about planes derive from this table.

import {naming} from '#src/api/naming.js';
import type {audit} from '#src/options/apiserver/audit.js';
import type {FlagRow} from '#src/options/flag.js';
import {upFlags} from './up.js';

/** How a field is written in the file, and what it becomes on the command line. */
export interface PlaneField {
  /** The flag with the same meaning, whose help describes the field. */
  readonly flag: keyof (typeof upFlags)['rows'] | keyof (typeof audit)['rows'];
  /** `path` is relative to the folder of the file; `switches` are `name: true` pairs; `lists` add to those of flags. */
  readonly type: 'string' | 'path' | 'integer' | 'boolean' | 'strings' | 'paths' | 'arguments' | 'switches';
}

/** The fields, in the order of the schema. */
export const planeFields = {
  name: {flag: 'name', type: 'string'},
  naming: {flag: 'naming', type: 'string'},
  dataDir: {flag: 'data-dir', type: 'path'},
  bindAddress: {flag: 'bind-address', type: 'string'},
  securePort: {flag: 'secure-port', type: 'integer'},
  kubeconfig: {flag: 'kubeconfig', type: 'path'},
  removeContextOnStop: {flag: 'remove-context-on-stop', type: 'boolean'},
  nodes: {flag: 'nodes', type: 'integer'},
  simulation: {flag: 'simulation-file', type: 'path'},
  agent: {flag: 'agent', type: 'boolean'},
  metricsAPI: {flag: 'metrics-api', type: 'boolean'},
  bootstrapTokens: {flag: 'bootstrap-tokens', type: 'boolean'},
  cloudProvider: {flag: 'cloud-provider', type: 'string'},
  manifests: {flag: 'manifests', type: 'paths'},
  webhookPort: {flag: 'webhook-port', type: 'integer'},
  featureGates: {flag: 'feature-gates', type: 'switches'},
  runtimeConfig: {flag: 'runtime-config', type: 'switches'},
  controllers: {flag: 'controllers', type: 'strings'},
  auditPolicyFile: {flag: 'audit-policy-file', type: 'path'},
  auditLogPath: {flag: 'audit-log-path', type: 'path'},
  apiserverArgs: {flag: 'apiserver-arg', type: 'arguments'},
  controllerManagerArgs: {flag: 'controller-manager-arg', type: 'arguments'},
  schedulerArgs: {flag: 'scheduler-arg', type: 'arguments'},
  agentArgs: {flag: 'agent-arg', type: 'arguments'},
  services: {flag: 'services', type: 'boolean'},
  proxyArgs: {flag: 'proxy-arg', type: 'arguments'},
  logFile: {flag: 'log-file', type: 'path'},
  verbosity: {flag: 'v', type: 'integer'},
} as const satisfies Readonly<Record<string, PlaneField>>;

/** The version and the kind of the file. Both namings have the same. */
export const planeConfigurationKind = {
  apiVersion: `config.${naming('plat').apiSuffix}/v1alpha1`,
  kind: 'PlaneConfiguration',
} as const;

const propertyOf = ({flag, type}: PlaneField): object => {
  const {help, oneOf, range} = (upFlags.rows as Readonly<Record<string, FlagRow>>)[flag]!;
  const description = help;
  const limits = {
    ...(typeof range?.min === 'number' ? {minimum: range.min} : {}),
    ...(typeof range?.max === 'number' ? {maximum: range.max} : {}),
  };
  if (flag === 'secure-port' || flag === 'webhook-port') return {description, type: 'integer', minimum: 0, maximum: 65_535};
  if (type === 'integer') return {description, type, ...limits};
  if (type === 'boolean') return {description, type};
  if (type === 'switches') return {description, type: 'object', additionalProperties: {type: 'boolean'}};
  if (type === 'arguments') return {description, type: 'array', items: {type: 'string', pattern: '^--'}};
  if (type === 'strings' || type === 'paths') return {description, type: 'array', items: {type: 'string', minLength: 1}};
  return {description, type: 'string', ...(oneOf ? {enum: oneOf} : {})};
};

/** Returns the JSON Schema of the file, for editors. */
export const planeConfigurationSchema = (): object => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'The configuration file of plat up',
  type: 'object',
  required: ['apiVersion', 'kind'],
  additionalProperties: false,
  properties: {
    apiVersion: {const: planeConfigurationKind.apiVersion},
    kind: {const: planeConfigurationKind.kind},
    ...Object.fromEntries(Object.entries(planeFields).map(([name, field]) => [name, propertyOf(field)])),
  },
});
