// The configuration of the agent in the virtual machine.

/** What is kept from pods: 100Mi, and the 800Mi that must stay free. The system uses some 450Mi of 3Gi. */
export const configuration = driver => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  cgroupDriver: driver,
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  // The API server of the plane relays requests with a certificate of this authority.
  authentication: {x509: {clientCAFile: '/var/lib/plat/pki/ca.crt'}, webhook: {enabled: true}, anonymous: {enabled: false}},
  failSwapOn: false,
  memorySwap: {swapBehavior: 'LimitedSwap'},
  featureGates: {MemoryQoS: true},
  cpuManagerPolicy: 'static',
  memoryManagerPolicy: 'Static',
  topologyManagerPolicy: 'single-numa-node',
  systemReserved: {cpu: '1', memory: '100Mi'},
  evictionHard: {'memory.available': '800Mi'},
  evictionPressureTransitionPeriod: '10s',
  reservedMemory: [{numaNode: 0, limits: {memory: '900Mi'}}],
  shutdownGracePeriod: '20s',
  shutdownGracePeriodCriticalPods: '10s',
});
