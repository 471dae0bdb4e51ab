// The code of docs/operator.md: each of its blocks is a part of a file here, or of an example, so that it is compiled.
import {
  againAfter,
  customKind,
  defineController,
  index,
  mapped,
  setCondition,
  type Configuration,
  type KubeObject,
  type Stored,
} from '@platio/plat/operator';
import {CronJob, Secret} from '@platio/plat/operator/kinds';

export interface Backup extends KubeObject {
  spec: {schedule: string; credentials: string; keep?: number; bucket?: string};
}
export const Backup = customKind<Backup, 'Backup'>({group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups'});

const bySecret = index(Backup, ({spec}) => [spec.credentials]);

export const backups = defineController({
  name: 'backups',
  for: Backup,
  owns: [CronJob],
  watches: [mapped(Secret, (secret, {caches}) => caches.by(bySecret, secret.metadata.name))],
  indexes: [bySecret],
  concurrency: 4,

  async reconcile({object: backup, caches, client}) {
    if (!backup) return; // Gone: owner references clean up.
    const {credentials} = backup.spec;
    if (!caches.get(Secret, {namespace: backup.metadata.namespace, name: credentials})) {
      await client.status(backup, setCondition('Ready', 'False', 'NoCredentials', `secret ${credentials} is missing`));
      return againAfter('1m');
    }
    await client.apply(CronJob, cronJobFor(backup)); // Nothing is sent where nothing differs.
    await client.status(backup, setCondition('Ready', 'True', 'Scheduled'));
    return;
  },
});

const cronJobFor = ({metadata, spec}: Stored<Backup>): Configuration<CronJob> => ({
  metadata: {name: metadata.name, namespace: metadata.namespace},
  spec: {
    schedule: spec.schedule,
    jobTemplate: {spec: {template: {spec: {restartPolicy: 'OnFailure', containers: [{name: 'backup', image: 'backup'}]}}}},
  },
});
