import {defaultRecordSize} from '#src/options/shared/record.js';
import {join} from 'node:path';
import {naming as namingOf} from '#src/api/naming.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {OptionError} from '#src/options/option-error.js';
import {readGatesOf} from '#src/options/parse.js';
import type {Versions} from '#src/options/versions.js';
import {proxyClientName, type PlaneMaterial} from './material.js';
import type {PlaneOptions} from './options.js';

/** The options of a plane with a definite naming. */
type NamedPlaneOptions = PlaneOptions & Required<Pick<PlaneOptions, 'naming'>>;

/** Whether a warning concerns a flag given by the caller, not one that the plane sets. */
export const concernsGivenFlag = (warning: string, args: readonly string[]): boolean => {
  const [, flag] = /--([a-z0-9-]+)/.exec(warning) ?? [];
  return flag === undefined || isGiven(args, flag);
};

/** The plane's own flags come first, so that the caller's take precedence. */
const isGiven = (args: readonly string[], flag: string): boolean => args.some(arg => arg === `--${flag}` || arg.startsWith(`--${flag}=`));
const unlessGiven = (args: readonly string[], own: Readonly<Record<string, string>>): string[] => {
  if (isGiven(args, 'naming'))
    throw new OptionError('--naming: all parts of a plane speak the naming of the plane: give it to plat up, or to startPlane as naming');
  return [
    ...Object.entries(own)
      .filter(([flag]) => !isGiven(args, flag))
      .map(([flag, value]) => `--${flag}=${value}`),
    ...args,
  ];
};

/** The flags of the API server. */
export const apiserverArgs = (
  {
    naming,
    dataDir = '.',
    bindAddress = '127.0.0.1',
    securePort = 0,
    nodes = 0,
    bootstrapTokens = false,
    record = defaultRecordSize,
    recordDir = '',
    apiserverArgs: args = [],
  }: NamedPlaneOptions,
  {files}: PlaneMaterial,
): string[] => [
  // Added to the caller's, unless the caller sets the same flag.
  ...((nodes > 0 || bootstrapTokens) && !args.some(arg => /admission-plugins=.*NodeRestriction|^--admission-control=/.test(arg))
    ? ['--enable-admission-plugins=NodeRestriction']
    : []),
  ...unlessGiven(args, {
    naming,
    'data-dir': join(dataDir, 'store'),
    'bind-address': bindAddress,
    'secure-port': String(securePort),
    ...(args.some(arg => /^--authorization-config=./.test(arg))
      ? {}
      : {'authorization-mode': nodes > 0 || bootstrapTokens ? 'Node,RBAC' : 'RBAC'}),
    ...(bootstrapTokens ? {'enable-bootstrap-token-auth': 'true'} : {}),
    record: record === false ? 'off' : record,
    ...(recordDir === '' ? {} : {'record-dir': recordDir}),
    'client-ca-file': files.ca,
    ...(args.some(arg => /^--authentication-config=./.test(arg)) ? {} : {'anonymous-auth': 'true'}),
    'allow-privileged': 'true',
    'service-cluster-ip-range': '10.96.0.0/16',
    'service-account-issuer': namingOf(naming).issuer,
    ...(args.some(arg => /^--service-account-signing-endpoint=./.test(arg))
      ? {}
      : {'service-account-key-file': files.serviceAccountPublic, 'service-account-signing-key-file': files.serviceAccountKey}),
    ...(args.some(arg => agentFlag.test(arg))
      ? {}
      : {'platlet-client-certificate': files.agentClient, 'platlet-client-key': files.agentClientKey}),
    ...proxyClientFlags(files, args),
    ...requestHeaderFlags(files, args),
  }),
];

const agentFlag = /^--platlet-client-/;

/**
 * The client certificate for aggregated servers. The caller's own, and an empty one for none, come with their own key.
 */
const proxyClientFlags = ({proxyClient, proxyClientKey}: PlaneMaterial['files'], args: readonly string[]): Record<string, string> =>
  args.some(arg => arg.startsWith('--proxy-client-'))
    ? {}
    : {'proxy-client-cert-file': proxyClient, 'proxy-client-key-file': proxyClientKey};

/**
 * The trust in request headers. The allowed names are those of the plane's own authority: the caller's may sign others.
 */
const requestHeaderFlags = ({proxyCa}: PlaneMaterial['files'], args: readonly string[]): Record<string, string> => ({
  ...(isGiven(args, 'requestheader-client-ca-file')
    ? {}
    : {'requestheader-client-ca-file': proxyCa, 'requestheader-allowed-names': proxyClientName}),
  'requestheader-username-headers': 'X-Remote-User',
  ...(readGatesOf(apiserverFlags, args).enabled('RemoteRequestHeaderUID') ? {'requestheader-uid-headers': 'X-Remote-Uid'} : {}),
  'requestheader-group-headers': 'X-Remote-Group',
  'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
});

const signingFlag = /^--cluster-signing-(?!duration)/;

/** The keys of the signers: the CA that the API server trusts, except for the legacy signer. */
const signingFlags = ({ca, caKey, legacyCa, legacyCaKey}: PlaneMaterial['files']): Record<string, string> => ({
  ...Object.fromEntries(
    ['plat-apiserver-client', 'platlet-client', 'platlet-serving'].flatMap(signer => [
      [`cluster-signing-${signer}-cert-file`, ca],
      [`cluster-signing-${signer}-key-file`, caKey],
    ]),
  ),
  'cluster-signing-legacy-unknown-cert-file': legacyCa,
  'cluster-signing-legacy-unknown-key-file': legacyCaKey,
});

/** The flag that selects the controllers, unless those that are on by default run. */
const selectionOf = (controllers: NonNullable<PlaneOptions['controllers']>, bootstrapTokens: boolean): Record<string, string> => {
  if (controllers === 'none') return {controllers: '-*'};
  if (controllers !== 'all') return {controllers: controllers.join(',')};
  return bootstrapTokens ? {controllers: '*,bootstrap-signer-controller,token-cleaner-controller'} : {};
};

/** The flags of the controller manager. It emulates the release of its API server. */
export const controllerManagerArgs = (
  {naming, nodes = 0, bootstrapTokens = false, cloudProvider, controllers = 'all', controllerManagerArgs: args = []}: NamedPlaneOptions,
  {files}: PlaneMaterial,
  {emulated}: Versions,
  cloudConfig: string,
): string[] =>
  unlessGiven(args, {
    naming,
    'emulated-version': emulated,
    'leader-elect': 'false',
    ...selectionOf(controllers, bootstrapTokens),
    ...(cloudProvider ? {'cloud-provider': cloudProvider, 'cloud-config': cloudConfig} : {}),
    'root-ca-file': files.ca,
    'service-account-private-key-file': files.serviceAccountKey,
    'use-service-account-credentials': 'true',
    'allocate-node-cidrs': 'true',
    'cluster-cidr': nodes > 256 ? '10.240.0.0/12' : '10.244.0.0/16', // Every node uses 256 addresses.
    'service-cluster-ip-range': '10.96.0.0/16',
    ...(args.some(arg => signingFlag.test(arg)) ? {} : signingFlags(files)),
  });

/** The flags of the scheduler. It emulates the release of its API server. */
export const schedulerArgs = ({naming, schedulerArgs: args = []}: NamedPlaneOptions, {emulated}: Versions): string[] =>
  unlessGiven(args, {naming, 'emulated-version': emulated, 'leader-elect': 'false'});
