/** A range of addresses outside the public internet. */
export interface AddressRange {
  cidr: string;
  /** Completes "10.0.0.1 is …". */
  is: string;
}

const LOOPBACK = "a loopback address";
const LINK_LOCAL = "a link-local address";
const METADATA = "where a cloud gives machines their credentials";
const PRIVATE = "a private address";
const RESERVED = "a reserved address";

/** Addresses of private networks, which may have model servers. */
export const PRIVATE_RANGES: readonly AddressRange[] = [
  { cidr: "10.0.0.0/8", is: PRIVATE },
  { cidr: "100.64.0.0/10", is: PRIVATE },
  { cidr: "172.16.0.0/12", is: PRIVATE },
  { cidr: "192.168.0.0/16", is: PRIVATE },
  { cidr: "198.18.0.0/15", is: PRIVATE },
  { cidr: "fc00::/7", is: PRIVATE },
];

/**
 * Addresses that no model server has unless an administrator decides otherwise. In IPv6, everything except the allocated
 * addresses (2000::/3) and fc00::/7, which includes those that embed an IPv4 address (mapped, NAT64); in 2000::/3, the tunnels
 * that embed one.
 */
export const NEVER_RANGES: readonly AddressRange[] = [
  { cidr: "100.100.100.200/32", is: METADATA },
  { cidr: "168.63.129.16/32", is: METADATA },
  { cidr: "192.0.0.0/24", is: RESERVED },
  { cidr: "fd00:ec2::254/128", is: METADATA },
  { cidr: "fd20:ce::254/128", is: METADATA },
  { cidr: "169.254.0.0/16", is: LINK_LOCAL },
  { cidr: "127.0.0.0/8", is: LOOPBACK },
  { cidr: "0.0.0.0/8", is: RESERVED },
  { cidr: "224.0.0.0/3", is: RESERVED },
  { cidr: "::1/128", is: LOOPBACK },
  { cidr: "fe80::/10", is: LINK_LOCAL },
  { cidr: "::/3", is: RESERVED },
  { cidr: "2001::/32", is: RESERVED },
  { cidr: "2002::/16", is: RESERVED },
  { cidr: "4000::/2", is: RESERVED },
  { cidr: "8000::/2", is: RESERVED },
  { cidr: "c000::/3", is: RESERVED },
  { cidr: "e000::/4", is: RESERVED },
  { cidr: "f000::/5", is: RESERVED },
  { cidr: "f800::/6", is: RESERVED },
  { cidr: "fe00::/7", is: RESERVED },
];
