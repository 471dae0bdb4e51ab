import {customKind, isAlreadyExists, kinds, type Client, type KubeObject} from '@platio/plat';

export interface Backup extends KubeObject {
  spec: {schedule: string; keep?: number};
}

export const backups = customKind<Backup>({group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups'});

/**
 * Keeps a cron job for every backup there is, until it is unsubscribed, and reports what it could not do. The garbage
 * collector takes it away with its backup.
 */
export const runOperator = (client: Client, report: (error: unknown) => void) =>
  client
    .resource(backups)
    .watch()
    .subscribe(({type, object: {apiVersion = '', kind = '', metadata, spec}}) => {
      if (type !== 'ADDED') return;
      const {name = '', namespace = '', uid = ''} = metadata ?? {};
      const template = {spec: {restartPolicy: 'Never', containers: [{name: 'backup', image: 'backup'}]}};
      client
        .resource(kinds.cronJobs)
        .create({
          metadata: {name, namespace, ownerReferences: [{apiVersion, kind, name, uid, controller: true}]},
          spec: {schedule: spec.schedule, successfulJobsHistoryLimit: spec.keep ?? 7, jobTemplate: {spec: {template}}},
        })
        .catch((error: unknown) => {
          if (!isAlreadyExists(error)) report(error);
        });
    });
