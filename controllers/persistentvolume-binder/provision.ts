import type {Lister} from '#informers/lister.js';
import {copyOf, keyOf, type Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists, notFound} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import {classOf, volumeAnnotations, type Claim, type StorageClass, type Volume} from '#src/model/volumes.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Operations} from '#controllers/shared/volumes/operations.js';
import type {VolumePlugin, VolumePlugins, Waiting} from '#controllers/shared/volumes/plugin.js';
import {claimKey, type Binding} from './binding.js';
import {deletionFinalizer, isInTree} from './finalizers.js';
import type {Reclaimer} from './reclaim.js';
import type {Timings} from './timings.js';

/** How often a provisioned volume is saved, or its storage deleted, and the time between attempts. */
const attempts = 5;
const attemptMs = 10_000;

interface ProvisionerParts {
  readonly context: ControllerContext;
  readonly binding: Binding;
  readonly plugins: VolumePlugins;
  readonly operations: Operations;
  readonly reclaimer: Reclaimer;
  readonly timings: Timings;
  /** Whether claims get volumes at all. */
  readonly isEnabled: boolean;
}

/** Creates volumes for claims, or has an external provisioner do it. */
export class Provisioner {
  readonly #parts: ProvisionerParts;
  readonly #classes: Lister<StorageClass>;
  readonly #nodes: Lister<Node>;
  readonly #annotations: ReturnType<typeof volumeAnnotations>;

  constructor(parts: ProvisionerParts) {
    const {lister, naming} = parts.context;
    this.#parts = parts;
    this.#classes = lister(kinds.storageClasses);
    this.#nodes = lister(kinds.nodes);
    this.#annotations = volumeAnnotations(naming);
  }

  /** Begins to provision a volume for a claim with a class. */
  start(claim: Frozen<Claim>): void {
    const {operations, timings, isEnabled} = this.#parts;
    if (!isEnabled) return;
    let found: {readonly storageClass: Frozen<StorageClass>; readonly plugin: VolumePlugin | undefined};
    try {
      found = this.#pluginFor(claim);
    } catch (error) {
      this.#fail(claim, messageOf(error));
      return;
    }
    const {storageClass, plugin} = found;
    const key = claimKey(claim);
    operations.start(`provision-${key}[${claim.metadata?.uid}]`, async waiting => {
      timings.begin(key, plugin?.name ?? storageClass.provisioner, 'provision');
      try {
        if (plugin) await this.#provision(claim, plugin, storageClass, waiting);
        else await this.#requestExternally(claim, storageClass.provisioner);
      } catch (error) {
        timings.failed(key);
        throw error;
      }
    });
  }

  #fail(claim: Frozen<Claim>, message: string): void {
    this.#parts.context.events.warning(claim, 'ProvisioningFailed', message);
  }

  #pluginFor(claim: Frozen<Claim>) {
    const {plugins, context} = this.#parts;
    const {naming} = context;
    const name = classOf(claim, naming);
    const storageClass = this.#classes.get(name);
    if (!storageClass) throw notFound({group: naming.group('storage'), resource: 'storageclass'}, name);
    if (!isInTree(storageClass.provisioner, naming)) return {storageClass, plugin: undefined};
    const plugin = plugins.named(storageClass.provisioner);
    if (!plugin.provision) throw new Error('no provisionable volume plugin matched');
    return {storageClass, plugin};
  }

  /** Names the provisioner on the claim, which is how external ones learn of it. */
  async #nameProvisioner(claim: Frozen<Claim>, provisioner: string): Promise<Frozen<Claim>> {
    if (claim.metadata?.annotations?.[this.#annotations.provisioner] === provisioner) return claim;
    const changed = copyOf<Claim>(claim);
    const {betaProvisioner, provisioner: current} = this.#annotations;
    changed.metadata = {
      ...changed.metadata,
      annotations: {...changed.metadata?.annotations, [betaProvisioner]: provisioner, [current]: provisioner},
    };
    return this.#parts.binding.saveClaim(changed);
  }

  async #requestExternally(claim: Frozen<Claim>, provisioner: string): Promise<void> {
    this.#parts.context.events.normal(
      await this.#nameProvisioner(claim, provisioner),
      'ExternalProvisioning',
      `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
    );
  }

  async #provision(before: Frozen<Claim>, plugin: VolumePlugin, storageClass: Frozen<StorageClass>, waiting: Waiting): Promise<void> {
    const {client} = this.#parts.context;
    if (before.spec?.dataSource ?? before.spec?.dataSourceRef) {
      const message = `plugin ${JSON.stringify(plugin.name)} is not a CSI plugin. Only CSI plugin can provision a claim with a datasource`;
      this.#fail(before, message);
      throw new Error(message);
    }
    const claim = await this.#nameProvisioner(before, plugin.name);
    const volumeName = `pvc-${claim.metadata?.uid}`;
    if (await unlessMissing(client.resource(kinds.persistentVolumes).get(volumeName))) return;
    const {mountOptions = []} = storageClass;
    if (!plugin.supportsMountOptions && mountOptions.length > 0) {
      this.#fail(
        claim,
        `Mount options are not supported by the provisioner but StorageClass ${JSON.stringify(storageClass.metadata?.name)} has mount options [${mountOptions.join(' ')}]`,
      );
      throw new Error(`provisioner ${JSON.stringify(plugin.name)} doesn't support mount options`);
    }
    const node = this.#selectedNode(claim);
    let provisioned: Volume;
    try {
      provisioned = await plugin.provision!({volumeName, claim, storageClass, node}, waiting);
    } catch (error) {
      if (waiting.signal.aborted) throw error;
      await this.#reschedule(claim);
      this.#fail(claim, `Failed to provision volume with StorageClass ${JSON.stringify(storageClass.metadata?.name)}: ${messageOf(error)}`);
      throw error;
    }
    await this.#save(claim, this.#boundTo(claim, provisioned, plugin), plugin, waiting);
  }

  #selectedNode(claim: Frozen<Claim>): Frozen<Node> | undefined {
    const name = claim.metadata?.annotations?.[this.#annotations.selectedNode];
    if (name === undefined) return undefined;
    const node = this.#nodes.get(name);
    if (node) return node;
    const error = notFound({group: '', resource: 'node'}, name);
    this.#fail(claim, `Failed to get target node: ${error.message}`);
    throw error;
  }

  /** Lets the scheduler select a node again: the volume cannot be created for this one. */
  async #reschedule(claim: Frozen<Claim>): Promise<void> {
    const {[this.#annotations.selectedNode]: node, ...annotations} = claim.metadata?.annotations ?? {};
    if (node === undefined) return;
    const changed = copyOf<Claim>(claim);
    changed.metadata = {...changed.metadata, annotations};
    await this.#parts.binding.saveClaim(changed);
  }

  #boundTo(claim: Frozen<Claim>, volume: Volume, plugin: VolumePlugin): Volume {
    const {naming} = this.#parts.context;
    const {boundByController, provisionedBy} = this.#annotations;
    const {namespace = '', name = ''} = keyOf(claim);
    const {uid = '', resourceVersion = ''} = claim.metadata ?? {};
    const kind = kinds.persistentVolumeClaims;
    return {
      ...volume,
      metadata: {
        ...volume.metadata,
        annotations: {...volume.metadata?.annotations, [boundByController]: 'yes', [provisionedBy]: plugin.name},
        ...(volume.spec?.persistentVolumeReclaimPolicy === 'Delete' ? {finalizers: [deletionFinalizer(naming)]} : {}),
      },
      spec: {
        ...volume.spec,
        storageClassName: classOf(claim, naming),
        claimRef: {kind: kind.kind, apiVersion: apiVersionOf(naming, kind), namespace, name, uid, resourceVersion},
      },
      status: {phase: 'Bound'},
    };
  }

  /** Saves a provisioned volume. If that fails for good, its storage is deleted, as no object would refer to it. */
  async #save(claim: Frozen<Claim>, volume: Volume, plugin: VolumePlugin, waiting: Waiting): Promise<void> {
    const {binding, context, reclaimer} = this.#parts;
    const {client, events} = context;
    const failure = await this.#repeated(waiting, async () => {
      try {
        binding.volumes.put(await client.resource(kinds.persistentVolumes).create(volume));
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    });
    if (failure === undefined)
      return events.normal(claim, 'ProvisioningSucceeded', `Successfully provisioned volume ${volume.metadata?.name} using ${plugin.name}`);
    const key = claimKey(claim);
    this.#fail(claim, `Error creating provisioned PV object for claim ${key}: ${messageOf(failure)}. Deleting the volume.`);
    const remains = await this.#repeated(waiting, () => reclaimer.deleteStorage(volume, waiting));
    if (remains !== undefined)
      events.warning(
        claim,
        'ProvisioningCleanupFailed',
        `Error cleaning provisioned volume for claim ${key}: ${messageOf(remains)}. Please delete manually.`,
      );
    throw failure;
  }

  /** Returns the last error if no attempt succeeds. */
  async #repeated({signal, pause}: Waiting, act: () => Promise<unknown>): Promise<Error | undefined> {
    let failure: Error | undefined;
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await pause(attemptMs);
      try {
        await act();
        return undefined;
      } catch (error) {
        if (signal.aborted) throw error;
        failure = error as Error;
      }
    }
    return failure;
  }
}
