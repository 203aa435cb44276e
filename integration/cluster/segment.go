//go:build linux

package cluster

import (
	"bytes"
	"encoding/binary"
)

// makeReset turns a TCP segment into one that resets its connection at the receiver, who resets it at the
// sender when that sends on. It reports false, and leaves the frame, if it is none or opens a connection.
func makeReset(frame *[]byte) bool {
	const (
		tcp                  = 6
		fin, syn, rst, ack   = 0x01, 0x02, 0x04, 0x10
		minPacket, flagsByte = 20, 13
	)
	packet := (*frame)[headerBytes:]
	if kindOf(*frame) != ipv4 || len(packet) < minPacket || packet[9] != tcp {
		return false
	}
	ipBytes := int(packet[0]&0x0f) * 4
	if len(packet) < ipBytes+minPacket || packet[ipBytes+flagsByte]&(syn|fin|rst) != 0 {
		return false
	}
	end := ipBytes + int(packet[ipBytes+12]>>4)*4 // without what it carries
	if len(packet) < end {
		return false
	}
	*frame = bytes.Clone((*frame)[:headerBytes+end])
	packet = (*frame)[headerBytes:]
	segment := packet[ipBytes:]
	segment[flagsByte] = rst | ack
	binary.BigEndian.PutUint16(packet[2:], uint16(end))
	setChecksum(packet[:ipBytes], 10, 0)
	pseudo := sum(packet[12:20]) + tcp + uint32(len(segment))
	setChecksum(segment, 16, pseudo)
	return true
}

// setChecksum writes the Internet checksum (RFC 1071) of data and of what is summed already.
func setChecksum(data []byte, at int, summed uint32) {
	binary.BigEndian.PutUint16(data[at:], 0)
	total := sum(data) + summed
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	binary.BigEndian.PutUint16(data[at:], ^uint16(total))
}

// sum adds up 16-bit words. Headers have an even number of bytes.
func sum(data []byte) (total uint32) {
	for i := 0; i+1 < len(data); i += 2 {
		total += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	return total
}
