import type {Claim} from '#controllers/shared/children/claiming.js';
import {selectedOrphans} from '#controllers/shared/children/selected.js';
import type {Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {isActive} from '#src/model/pod/state.js';
import {singlePodGroups, type PodGroup} from './pod-groups.js';
import {countOfAll, type Replicated} from './replica-status.js';

/**
 * Returns what finds a parent's active pods, including those adopted now. Where counting groups is enough, pods are not
 * visited one by one: a change of one pod must not cost a visit of all.
 */
export const activePodsOf =
  <T extends Replicated>(pods: Lister<Pod>, claim: Claim<Pod>) =>
  async (parent: Frozen<T>, selector: LabelSelector, own: readonly PodGroup[]): Promise<readonly PodGroup[]> => {
    const isSelected = ({representative}: PodGroup) => selector.matches(representative.metadata?.labels);
    const active = own.filter(({representative}) => isActive(representative));
    const orphans = selectedOrphans(pods, parent.metadata?.namespace ?? '', selector).filter(isActive);
    const open = [...active.filter(each => !isSelected(each)).flatMap(each => each.pods()), ...orphans];
    const kept = active.filter(isSelected);
    const {replicas = 0, minReadySeconds = 0} = parent.spec ?? {};
    if (open.length === 0 && minReadySeconds === 0 && countOfAll(kept) <= replicas) return kept;
    const listed = singlePodGroups(kept.flatMap(each => each.pods()));
    return open.length === 0 ? listed : [...listed, ...singlePodGroups(await claim(parent, open, {selector}))];
  };
