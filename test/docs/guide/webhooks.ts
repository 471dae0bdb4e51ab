import {
  converting,
  defaulting,
  forbidden,
  invalid,
  runManager,
  validating,
  webhookConfigurations,
  type KubeObject,
} from '@platio/plat/operator';
import {backups, Backup} from './backups.js';

export const webhooks = [
  defaulting(Backup, backup => {
    backup.spec.keep ??= 7;
  }),
  validating(Backup, function* ({object, oldObject}) {
    if (object!.spec.keep! > 100) yield invalid('spec.keep', object!.spec.keep, 'at most 100 are kept');
    if (oldObject && oldObject.spec.bucket !== object!.spec.bucket) yield forbidden('spec.bucket', 'it cannot be changed');
  }),
];

export const conversion = converting(Backup, {
  hub: 'v1',
  versions: {
    v1beta1: {
      toHub: ({spec: {retain, ...spec}, ...rest}: KubeObject & {spec: {retain?: number}}) =>
        ({...rest, spec: {...spec, keep: retain}}) as KubeObject,
      fromHub: ({spec: {keep, ...spec}, ...rest}: KubeObject & {spec: {keep?: number}}) =>
        ({...rest, spec: {...spec, retain: keep}}) as KubeObject,
    },
  },
});

export const manifests = webhookConfigurations({
  name: 'backups',
  handlers: webhooks,
  service: {namespace: 'backups-system', name: 'backups'},
});

export const main = () =>
  runManager({
    name: 'backups',
    controllers: [backups],
    webhooks: {handlers: [...webhooks, conversion], configurations: ['backups']},
    readyChecks: {
      async storage() {
        await fetch('http://storage.example.com/healthz');
      },
    },
  });
