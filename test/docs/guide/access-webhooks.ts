// The code of docs/operator.md on webhooks besides those of its own kind.
import {authenticating, authorizing, forbidden, subresource, validating} from '@platio/plat/operator';
import {Pod, type Eviction} from '@platio/plat/operator/kinds';

declare const isBusy: (name: string) => Promise<boolean>;
declare const sessions: {find(token: string): Promise<{readonly user: string; readonly teams: string[]} | undefined>};

export const evictions = validating(
  subresource<Eviction>(Pod, 'eviction'),
  async function* ({object, request}) {
    if (!request.dryRun && (await isBusy(object!.metadata!.name!))) yield forbidden('metadata.name', 'it is at work');
  },
  {
    operations: ['CREATE'],
    namespaceSelector: {matchLabels: {team: 'a'}},
    matchConditions: [{name: 'not-by-nodes', expression: "!('system:nodes' in request.userInfo.groups)"}],
    failurePolicy: 'Ignore',
  },
);

export const tokens = authenticating(async ({token}) => {
  const session = await sessions.find(token);
  return session && {username: session.user, groups: session.teams};
});
export const access = authorizing(({user, resource}) => {
  if (resource?.resource === 'secrets' && !user.groups.includes('keepers')) return {allowed: false, denied: true};
});
