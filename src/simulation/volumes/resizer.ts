import {kinds} from '#src/api/kinds/index.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {compareQuantities, formatQuantity, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import {wireTime} from '#src/api/time.js';
import {claimedStorage, storageCapacity, type Claim, type Volume} from '#src/model/volumes.js';
import {Expected, settled, type Result} from '#src/runtime/controller.js';
import {isOwn, targetOf, type DriverContext} from './context.js';

type ClaimStatus = NonNullable<Claim['status']>;

const storageOf = ({status}: Frozen<Claim>) => (status?.capacity?.['storage'] ? parseQuantity(status.capacity['storage']) : zeroQuantity);

/** The status without the fields of an expansion. */
const withoutExpansion = ({status}: Frozen<Claim>): ClaimStatus => {
  const {allocatedResources: _, allocatedResourceStatuses: __, conditions = [], ...rest} = structuredClone(status ?? {}) as ClaimStatus;
  const others = conditions.filter(({type}) => !['Resizing', 'FileSystemResizePending', 'ControllerResizeError'].includes(type));
  return {...rest, ...(others.length > 0 ? {conditions: others} : {})};
};

/** The status of a claim whose expansion begins. */
const beginning = (claim: Frozen<Claim>, size: string, now: number): ClaimStatus => {
  const plain = withoutExpansion(claim);
  return {
    ...plain,
    allocatedResources: {storage: size},
    allocatedResourceStatuses: {storage: 'ControllerResizeInProgress'},
    conditions: [...(plain.conditions ?? []), {type: 'Resizing', status: 'True', lastTransitionTime: wireTime(now)}],
  };
};

/** What a claim asks of its volume: another class of attributes, more storage, or nothing. */
type Wish = {readonly kind: 'attributes'; readonly attributes: string} | {readonly kind: 'size' | 'nothing'};

const wishOf = (claim: Frozen<Claim>): Wish => {
  const {volumeAttributesClassName: attributes} = claim.spec as {volumeAttributesClassName?: string};
  const {currentVolumeAttributesClassName: current} = claim.status as {currentVolumeAttributesClassName?: string};
  if (attributes && attributes !== current) return {kind: 'attributes', attributes};
  return {kind: compareQuantities(claimedStorage(claim), storageOf(claim)) > 0 ? 'size' : 'nothing'};
};

/**
 * Expands volumes of the driver to the requests of their claims, and applies volume attributes classes, like the
 * external-resizer.
 */
export const claimResizer = (context: DriverContext): ((claim: Frozen<Claim>, key: string) => Promise<Result>) => {
  const {driver, steps, volumes} = context;
  return async (claim, key) => {
    const volume = volumes.get(claim.spec?.volumeName ?? '');
    const isResized = volume && isOwn(volume, driver) && claim.status?.phase === 'Bound' && !claim.metadata?.deletionTimestamp;
    const wish: Wish = isResized ? wishOf(claim) : {kind: 'nothing'};
    if (wish.kind === 'size') return expand(context, claim, volume!, key);
    if (wish.kind === 'attributes') await modify(context, claim, volume!, wish.attributes);
    else steps.forget(key, 'expand');
    return settled;
  };
};

const setStatus = ({client}: DriverContext, claim: Frozen<Claim>, status: ClaimStatus): Promise<Claim> =>
  client.resource(kinds.persistentVolumeClaims).update({...copyOf<Claim>(claim), status}, {subresource: 'status'});

/** Takes the next step of an expansion. */
const expand = async (context: DriverContext, claim: Frozen<Claim>, volume: Frozen<Volume>, key: string): Promise<Result> => {
  const {client, clock, driver, events, naming, steps} = context;
  const size = formatQuantity(claimedStorage(claim));
  const name = volume.metadata?.name;
  if (claim.status?.allocatedResources?.['storage'] !== size) {
    await setStatus(context, claim, beginning(claim, size, clock.now()));
    events.normal(claim, 'Resizing', `External resizer is resizing volume ${name}`);
    return settled; // The update triggers another reconcile.
  }
  const {again, error} = steps.take(key, 'expand', targetOf(volume, naming));
  if (again) return again;
  if (error) {
    events.warning(
      claim,
      'VolumeResizeFailed',
      `resize volume ${JSON.stringify(name)} by resizer ${JSON.stringify(driver)} failed: ${error.message}`,
    );
    throw new Expected(error.message);
  }
  if (compareQuantities(storageCapacity(volume), claimedStorage(claim)) < 0)
    await client.resource(kinds.persistentVolumes).patch(name ?? '', 'merge', {spec: {capacity: {storage: size}}});
  await setStatus(context, claim, {...withoutExpansion(claim), capacity: {...claim.status?.capacity, storage: size}});
  events.normal(claim, 'VolumeResizeSuccessful', 'Resize volume succeeded');
  return settled;
};

/** Gives the volume the attributes of a class. */
const modify = async (context: DriverContext, claim: Frozen<Claim>, volume: Frozen<Volume>, attributes: string): Promise<void> => {
  const name = volume.metadata?.name;
  const spec = {volumeAttributesClassName: attributes};
  await context.client.resource(kinds.persistentVolumes).patch(name ?? '', 'merge', {spec});
  const status = {...(structuredClone(claim.status) as ClaimStatus), currentVolumeAttributesClassName: attributes};
  await setStatus(context, claim, status as ClaimStatus);
  context.events.normal(claim, 'VolumeModifySuccessful', `External resizer modified volume ${name} with vac ${attributes} successfully`);
};
