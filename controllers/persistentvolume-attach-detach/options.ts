export interface AttachDetachOptions {
  readonly attachDetachReconcileSyncPeriod: number;
  readonly disableAttachDetachReconcileSync: boolean;
  readonly disableForceDetachOnTimeout: boolean;
  readonly flexVolumePluginDir: string;
}
