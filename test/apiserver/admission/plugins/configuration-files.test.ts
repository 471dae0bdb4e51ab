import test from 'ava';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {configurablePlugins} from '#src/apiserver/admission/configuration/settings.js';
import {parseFlags} from '#src/options/parse.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {readAdmission} from '#src/plane/api-server/admission.js';
import {aFile, settingsFor} from '#test/apiserver/authorization/environment.js';

const settings = settingsFor({url: 'https://127.0.0.1:1', caBundle: ''});
const clock = new VirtualClock();

/** Reads a file for one plugin as a server does at its start, with the plugin on. */
const read = (plugin: string, configuration: object | string, name: 'plat' | 'kubernetes' = 'plat') => {
  const words = naming(name);
  const path = aFile(typeof configuration === 'string' ? configuration : JSON.stringify(configuration));
  const file = aFile(
    JSON.stringify({
      kind: 'AdmissionConfiguration',
      apiVersion: words.apiVersion('apiserver.config', 'v1'),
      plugins: [{name: plugin, path}],
    }),
  );
  const {options} = parseFlags(apiserverFlags, [`--admission-control-config-file=${file}`, `--enable-admission-plugins=${plugin}`]);
  return readAdmission(options, {naming: words, clock, random: seededRandom(1), log: noLog, signal: new AbortController().signal});
};

interface Row {
  /** The kind and its group; absent for a file without them. */
  readonly kind?: readonly [kind: string, group: (suffix: string) => string, version: string];
  readonly good: object;
  readonly bad: object;
  /** What the error says about the bad file. */
  readonly why: RegExp;
}

const apiserver = (suffix: string) => `apiserver.config.${suffix}`;
const of = (plugin: string) => (suffix: string) => `${plugin}.admission.${suffix}`;
const webhooks: Row = {
  kind: ['WebhookAdmissionConfiguration', apiserver, 'v1'],
  good: {kubeConfigFile: settings},
  bad: {kubeConfigFile: 'relative'},
  why: /kubeConfigFile: Invalid value: "relative": must be an absolute file path/,
};

const rows: Readonly<Record<string, Row>> = {
  EventRateLimit: {
    kind: ['Configuration', of('eventratelimit'), 'v1alpha1'],
    good: {limits: [{type: 'Namespace', qps: 5, burst: 10, cacheSize: 100}]},
    bad: {limits: [{type: 'Namespace', qps: 0, burst: 10}]},
    why: /limits\[0\]\.qps: Invalid value: 0: must be positive/,
  },
  ImagePolicyWebhook: {
    good: {imagePolicy: {kubeConfigFile: settings, allowTTL: 50, denyTTL: 50, retryBackoff: 500, defaultAllow: true}},
    bad: {imagePolicy: {kubeConfigFile: settings, allowTTL: 99_999}},
    why: /imagePolicy\.allowTTL: Invalid value: 99999: valid value is between 1s and 30m0s, got 27h46m39s/,
  },
  MutatingAdmissionWebhook: webhooks,
  ValidatingAdmissionWebhook: webhooks,
  PodNodeSelector: {
    good: {podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: 'pool=a', team: 'pool=b'}},
    bad: {podNodeSelectorPluginConfig: {team: 'pool'}},
    why: /podNodeSelectorPluginConfig\[team\]: Invalid value: "pool": invalid selector: \[pool\]/,
  },
  PodSecurity: {
    kind: ['PodSecurityConfiguration', suffix => `pod-security.admission.config.${suffix}`, 'v1'],
    good: {defaults: {enforce: 'baseline', 'enforce-version': 'latest'}, exemptions: {namespaces: ['lax']}},
    bad: {defaults: {enforce: 'strict'}},
    why: /defaults\.enforce: Invalid value: "strict"/,
  },
  PodTolerationRestriction: {
    kind: ['Configuration', of('podtolerationrestriction'), 'v1alpha1'],
    good: {default: [{key: 'a', operator: 'Exists'}], whitelist: [{key: 'a', operator: 'Exists'}]},
    bad: {default: [{key: 'a', operator: 'Maybe'}]},
    why: /podtolerationrestriction\.configuration\.default\[0\]\.operator: Unsupported value: "Maybe"/,
  },
  ResourceQuota: {
    kind: ['ResourceQuotaConfiguration', apiserver, 'v1'],
    good: {limitedResources: [{resource: 'pods', matchContains: ['cpu']}]},
    bad: {limitedResources: [{apiGroup: 'apps'}]},
    why: /limitedResources\[0\]\.resource: Required value/,
  },
};

test('every plugin with a configuration has a good and a bad file', t => {
  t.deepEqual(Object.keys(rows).sort(), [...configurablePlugins].sort());
});

for (const [plugin, {kind, good, bad, why}] of Object.entries(rows)) {
  test(`a server starts with a configuration of ${plugin}, and a wrong one ends the start with one line`, async t => {
    for (const [name, suffix] of [
      ['plat', 'plat.io'],
      ['kubernetes', 'k8s.io'],
    ] as const) {
      const head = kind ? {kind: kind[0], apiVersion: `${kind[1](suffix)}/${kind[2]}`} : {};
      const {settings, users, imageReviews} = await read(plugin, {...head, ...good}, name);
      t.true([...Object.values(settings), ...Object.values(users), imageReviews].some(value => value !== undefined));

      const error = await t.throwsAsync(read(plugin, {...head, ...bad}, name));
      t.regex(error.message, why);
      t.regex(error.message, new RegExp(`^--admission-control-config-file=?.*${plugin}: [^\\n]+$`));
    }
    if (!kind) return;
    await t.throwsAsync(read(plugin, {...good, kind: 'Other', apiVersion: `${kind[1]('plat.io')}/${kind[2]}`}), {
      message: /no kind "Other" is registered for version/,
    });
    await t.throwsAsync(read(plugin, {...good, kind: kind[0], apiVersion: `${kind[1]('plat.io')}/${kind[2]}`, unknown: 1}), {
      message: /strict decoding error: unknown field "unknown"/,
    });
  });
}

test('credentials of image reviews that cannot be read end the start', async t => {
  await t.throwsAsync(read('ImagePolicyWebhook', {imagePolicy: {kubeConfigFile: '/none/such'}}), {
    message: /^--admission-control-config-file: ImagePolicyWebhook: kubeConfigFile.*\/none\/such/,
  });
});
