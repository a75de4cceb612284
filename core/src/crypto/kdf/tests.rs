use super::counter_mode;
use hex_literal::hex;

/// NIST CAVP, SP 800-108 (CAVS 14.4, `KDFCTR_gen.rsp`): `[PRF=CMAC_AES128] [CTRLOCATION=BEFORE_FIXED]
/// [RLEN=32_BITS]`, the first case of each length. A work of the United States government, in the public domain.
#[test]
fn counter_mode_gives_the_vectors_of_nist() {
    check(
        hex!("c10b152e8c97b77e18704e0f0bd38305"),
        hex!(
            "98cd4cbbbebe15d17dc86e6dbad800a2dcbd64f7c7ad0e78e9cf94ff"
            "dba89d03e97eadf6c4f7b806caf52aa38f09d0eb71d71f497bcc6906b48d36c4"
        ),
        hex!("26faf61908ad9ee881b8305c221db53f"),
    );
    check(
        hex!("93832dc1d606dc1dbd83083601c1fab0"),
        hex!(
            "7738821d9685a8840b99d54442674fa9844ea966c235117f208ef7ee"
            "783e13322e8354046b4941f7cc2aaf43893f79188f19af3648a240e13b0285e6"
        ),
        hex!("44b6a5c77f2b5ab65e8d513aee2eafda64923fdd"),
    );
    check(
        hex!("009300d265d1f1b28b505dccc162f4f8"),
        hex!(
            "5ac373d42ed92427d8ff6cfff7eae13d66d3c7e536cc749859e2a49e"
            "3eea2ad846c9fbb7ddd99a1e6a54a89a87db98db6b8229f577b552e09aeed5e6"
        ),
        hex!("c666d91f931606882bf214ebe79cd25a02810c7ab6ced75cd3fabd027f0de54e"),
    );
    check(
        hex!("f5b30bd08f8aaab4ab01d685bed62bea"),
        hex!(
            "640913e9f9912cda1d664a596adcba75524f549852613bb4fd02eabf"
            "f3525a4780a09c1b0252843d709820445cd92f4cabccccd39acedbe1dc317870"
        ),
        hex!("6a0c9d6418fd60cc361576c806bccd0801a4b29ab8809c61f6b5a3315777aba0b238231342575b69"),
    );
}

fn check<const N: usize>(key: [u8; 16], fixed: [u8; 60], expected: [u8; N]) {
    let mut out = [0; N];
    counter_mode(&key, [&fixed[..]].into_iter(), &mut out);
    assert_eq!(out, expected);
}
