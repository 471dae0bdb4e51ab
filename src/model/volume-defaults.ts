interface Source {
  readonly hostPath?: {type?: string};
  readonly iscsi?: {iscsiInterface?: string};
  readonly rbd?: {pool?: string; user?: string; keyring?: string};
  readonly azureDisk?: {cachingMode?: string; kind?: string; fsType?: string; readOnly?: boolean};
  readonly scaleIO?: {storageMode?: string; fsType?: string};
}

/** Applies the defaults of volume sources, for pod volumes and persistent volumes. */
export const defaultVolumeSource = ({hostPath, iscsi, rbd, azureDisk, scaleIO}: Source): void => {
  if (hostPath) hostPath.type ??= '';
  if (iscsi) iscsi.iscsiInterface ||= 'default';
  if (rbd) {
    rbd.pool ||= 'rbd';
    rbd.user ||= 'admin';
    rbd.keyring ||= '/etc/ceph/keyring';
  }
  if (azureDisk) {
    azureDisk.cachingMode ??= 'ReadWrite';
    azureDisk.kind ??= 'Shared';
    azureDisk.fsType ??= 'ext4';
    azureDisk.readOnly ??= false;
  }
  if (scaleIO) {
    scaleIO.storageMode ||= 'ThinProvisioned';
    scaleIO.fsType ||= 'xfs';
  }
};
