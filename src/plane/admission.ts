import {readFileSync} from 'node:fs';
import type {Naming} from '#src/api/naming.js';
import {kinds} from '#src/api/kinds.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {readPluginTexts} from '#src/apiserver/admission/configuration/file.js';
import {configurablePlugins, readPluginSettings, type PluginSettings} from '#src/apiserver/admission/configuration/settings.js';
import {createPlugins} from '#src/apiserver/admission/plugins.js';
import {escalationCheck} from '#src/apiserver/authorization/escalation.js';
import {registryReader} from '#src/apiserver/registry/reader.js';
import {registryChange} from '#src/apiserver/registry/writer.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {ApiserverOptions} from '#src/options/apiserver.js';
import {explained} from './authentication.js';
import type {Judges} from './authorization.js';

export interface AdmissionParts {
  readonly registry: Registry;
  readonly naming: Naming;
  readonly judges: Judges;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  /** The minor version whose behaviour is shown. */
  readonly minor: number;
  /** A client that acts as the server itself. */
  client(): Client;
  gate(name: string): boolean;
}

type Options = Pick<
  ApiserverOptions,
  'enableAdmissionPlugins' | 'disableAdmissionPlugins' | 'admissionControl' | 'admissionControlConfigFile' | 'defaultNotReadyTolerationSeconds' | 'defaultUnreachableTolerationSeconds'
>;

/** The plugins of a server in the order they are asked: those that are on by default or asked for, less those switched off. */
export const admissionPlugins = (
  options: Options,
  {registry, naming, judges, log, client, gate, ...parts}: AdmissionParts,
): AdmissionPlugin[] => {
  const {authorizer, rbac} = judges;
  const reader = registryReader(registry);
  const {settings, configured} = configurationOf(options, naming, log);
  const {plugins, withoutSubject} = createPlugins(
    {enable: options.enableAdmissionPlugins, disable: options.disableAdmissionPlugins, exactly: options.admissionControl, configured},
    {
      ...parts,
      naming,
      authorizer,
      reader,
      change: registryChange(registry),
      gate,
      findNamespace: name => reader.get(kinds.namespaces, '', name),
      createNamespace: name => client().resource(kinds.namespaces).create({metadata: {name}}),
      kindsOf: (apiVersion, kind) => registry.served.map(served => served.kind).filter(one => one.kind === kind && naming.apiVersion(one.group, one.version) === apiVersion),
      tolerationSeconds: {notReady: options.defaultNotReadyTolerationSeconds, unreachable: options.defaultUnreachableTolerationSeconds},
      ...settings,
    },
  );
  for (const plugin of withoutSubject) log.warn({plugin}, 'an admission plugin has no effect: what it governs is not part of this build yet');
  return rbac ? [...plugins, escalationCheck({naming, rbac, authorizer})] : [...plugins];
};

const flag = 'admission-control-config-file';

/** What the configuration file says, and which plugins it speaks of. Throws one line that names the flag. What it says to no effect is warned of. */
const configurationOf = ({admissionControlConfigFile: path}: Options, naming: Naming, log: Log): {readonly settings: PluginSettings; readonly configured: readonly string[]} => {
  if (!path) return {settings: {}, configured: []};
  return explained(flag, path, () => {
    const texts = readPluginTexts(path, naming, file => readFileSync(file, 'utf8'));
    const configured = [...texts.keys()];
    for (const plugin of configured) {
      if (!configurablePlugins.has(plugin)) log.warn({plugin}, `--${flag}: there is no such admission plugin, or it takes no configuration`);
    }
    return {settings: readPluginSettings(texts, naming), configured};
  });
};
